#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/converse/end_readout.h"
#include "runtime/converse/history.h"
#include "text/tokenizer.h"

namespace predgen {

// Shapes: V vocabulary.

/// The prompt in which the user says this.
using RenderPrompt = std::function<History::Prompt(const std::string& user_text)>;

/// Tokens of `prompt`, which renders `words`, up to their end. Nothing where the template changes
/// what stands before it with the words.
std::optional<int64_t> words_end(const History::Prompt& prompt, const std::string& words,
                                 const RenderPrompt& render);

/// How likely a turn is over by what was said: the model's own probability that the message ends
/// after these words, or a sentence does. Thread-safe.
class EndByWords {
 public:
  /// `readout`: what was trained for this model; null: the likeliest of what ends a message, and
  /// two numbers fitted to that. UserError as Tokenizer::render_chat().
  explicit EndByWords(const Tokenizer& tokenizer, std::shared_ptr<const EndReadout> readout = {});

  /// `words` without the marks that end a sentence, which recognisers set in mid-sentence, too:
  /// a beginning of `words`.
  static std::string without_marks(const std::string& words);
  /// `logits_V`: after the last word of without_marks(). As if a pause were as often inside of a
  /// turn as at its end.
  double probability(const at::Tensor& logits_V) const;

 private:
  const std::shared_ptr<const EndReadout> readout_;
  at::Tensor ends_;  // int64 [..]: ids of ".", "?", "!" and of what ends the message
};

}  // namespace predgen

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

/// Renders the prompt in which the user says `user_text`.
using RenderPrompt = std::function<History::Prompt(const std::string& user_text)>;

/// Number of tokens in `prompt`, which renders `words`, up to the end of the words. nullopt if the
/// words change what the template puts before that.
std::optional<int64_t> words_end(const History::Prompt& prompt, const std::string& words,
                                 const RenderPrompt& render);

/// How likely a turn is over, judged by its words: the model's own probability that the message, or
/// a sentence, ends after them. Thread-safe.
class EndByWords {
 public:
  /// `readout`: trained for this model; null: the likeliest token that ends a message, with two
  /// fitted numbers. UserError as Tokenizer::render_chat().
  explicit EndByWords(const Tokenizer& tokenizer, std::shared_ptr<const EndReadout> readout = {});

  /// `words` without the marks that end a sentence, which recognisers also set in mid-sentence: a
  /// prefix of `words`.
  static std::string without_marks(const std::string& words);
  /// `logits_V`: after the last word of without_marks(). Assumes that pauses inside a turn are as
  /// frequent as at its end.
  double probability(const at::Tensor& logits_V) const;

 private:
  const std::shared_ptr<const EndReadout> readout_;
  at::Tensor ends_;  // int64 [..]: ids of ".", "?", "!" and of what ends the message
};

}  // namespace predgen

#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/converse/history.h"
#include "text/tokenizer.h"

namespace predgen {

// Shapes: V vocabulary, S tokens whose logits are read, I width.

/// A small network that tells from a language model's logits after a user's words whether the
/// message ends there. scripts/train_end_readout.py makes the file. It is trained on the model's
/// final hidden state; the logits of more tokens than it has dimensions determine it. Thread-safe.
class EndReadout {
 public:
  /// UserError naming the file and what is wrong with it, or which vocabulary it is for.
  EndReadout(const std::filesystem::path& file, int64_t vocab_size);

  /// fingerprint() of the model that it was trained for; empty: the file does not say.
  const std::string& model() const { return model_; }

  /// Assumes that pauses inside a message are as frequent as at its end. `logits_V`: on any device.
  double probability(const at::Tensor& logits_V) const;

 private:
  std::string model_;
  at::Tensor tokens_S_;                                           // int64
  at::Tensor weight_IS_, bias_I_, last_weight_1I_, last_bias_1_;  // float32
};

/// The readout stored beside a model: NAME.ends.safetensors for NAME.gguf, ends.safetensors in a
/// folder. Null if there is none, or if it was trained for another model, or for this one without
/// its adapter, which the log says; null for an empty path. UserError as above.
std::shared_ptr<const EndReadout> find_end_readout(const std::filesystem::path& model,
                                                   int64_t vocab_size, bool has_adapter = false);

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

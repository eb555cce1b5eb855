#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

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

}  // namespace predgen

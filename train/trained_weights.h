#pragma once

#include <filesystem>
#include <vector>

#include "model/transformer.h"
#include "train/optim/adamw.h"
#include "train/train_config.h"

namespace predgen::train {

/// The trainable part of a model (a new LoRA adapter or every weight), and its files. Borrows the
/// model.
class TrainedWeights {
 public:
  /// Attaches the adapter, or makes every weight trainable (they must be float32).
  TrainedWeights(Transformer& model, const TrainConfig& config);

  std::vector<Parameter> parameters() const;
  /// An adapter folder (PEFT) or a model folder (Hugging Face); "fp32" keeps every bit.
  void save(const std::filesystem::path& folder, const std::string& dtype) const;
  /// Loads what save() wrote into the same tensors. UserError if something does not match.
  void load(const std::filesystem::path& folder);

  /// After the first backward pass: Error if a gradient is not finite, or is zero where it cannot
  /// be (LoRA's B; A's is zero as long as B is), which means a weight is cut off from the loss.
  void check_first_gradients() const;

 private:
  Transformer& model_;
  const TrainMode mode_;
  const LoraConfig lora_;
  const std::filesystem::path base_path_, tokenizer_path_;  // base: empty from scratch
};

}  // namespace predgen::train

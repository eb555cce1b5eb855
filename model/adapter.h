#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "model/adapter_config.h"
#include "model/safetensors.h"

namespace predgen {

/// A PEFT folder: adapter_config.json and adapter_model.safetensors. Refuses by name what this
/// program does not honour (DoRA, modules_to_save, bias, pickled weights, ...).
class AdapterFolder {
 public:
  explicit AdapterFolder(const std::filesystem::path& folder);

  const AdapterConfig& config() const { return config_; }
  const std::filesystem::path& path() const { return folder_; }
  /// Whole matrices that take the place of the base model's, by Hugging Face name
  /// ("model.embed_tokens.weight", "lm_head.weight"): PEFT saves them when the vocabulary was
  /// resized. Views of the file.
  const std::map<std::string, at::Tensor>& embeddings() const { return embeddings_; }

  at::Tensor read_embedding(const std::string& name, int64_t begin, int64_t end) const;

  /// Attaches A and B, in float32 on the model's device. UserError for an adapter that matches no
  /// layer, left-over tensors and wrong shapes.
  void attach(Transformer& model) const;

 private:
  std::filesystem::path folder_;
  AdapterConfig config_;
  SafetensorsFile file_;
  std::map<std::string, at::Tensor> embeddings_;
};

/// Attaches an adapter without embeddings to a model; UserError as above. The configuration is for
/// save_adapter.
AdapterConfig load_adapter(Transformer& model, const std::filesystem::path& folder);

/// Writes a folder that PEFT and load_adapter read, in the type config.dtype.
void save_adapter(const Transformer& model, const AdapterConfig& config,
                  const std::filesystem::path& folder);

}  // namespace predgen

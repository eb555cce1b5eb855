#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "model/weights/adapter_config.h"
#include "tensors/safetensors.h"

namespace predgen {

/// A PEFT folder: adapter_config.json and adapter_model.safetensors. Rejects by name what this
/// program does not support (DoRA, bias, pickled weights, ...).
class AdapterFolder {
 public:
  explicit AdapterFolder(const std::filesystem::path& folder);

  const AdapterConfig& config() const { return config_; }
  const std::filesystem::path& path() const { return folder_; }
  /// Full matrices that replace the base model's, by Hugging Face name
  /// ("model.embed_tokens.weight", "lm_head.weight"): PEFT saves them when the vocabulary was
  /// resized, and when "modules_to_save" names them. Views of the file.
  const std::map<std::string, at::Tensor>& embeddings() const { return embeddings_; }

  /// See SafetensorsFile::load() and read_rows().
  at::Tensor load_embedding(const std::string& name, at::Device device, at::ScalarType dtype) const;
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

/// Writes a folder that PEFT and AdapterFolder read, in the type config.dtype.
void save_adapter(const Transformer& model, const AdapterConfig& config,
                  const std::filesystem::path& folder);

}  // namespace predgen

#pragma once

#include <memory>

#include "model/model_config.h"
#include "model/weights/adapter.h"
#include "model/weights/safetensors.h"

namespace predgen {

/// Every weight of a Hugging Face folder by its name, on disk until asked for. An adapter's whole
/// embeddings stand in for the folder's, and give the size of the vocabulary.
class ModelWeights {
 public:
  /// UserError names missing, superfluous, misshapen and quantised tensors, and a tied head that
  /// is stored and differs. `adapter`: null for none.
  explicit ModelWeights(const std::filesystem::path& folder,
                        std::shared_ptr<const AdapterFolder> adapter = nullptr);

  const ModelConfig& config() const { return config_; }
  /// As stored: a view of the file, not to be written to.
  at::Tensor tensor(const std::string& name) const;
  /// See SafetensorsFile::load().
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const;
  /// As stored: a copy of rows [begin, end), read without the mapping.
  at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const;

  /// See SafetensorsFile::forget(); nothing for an adapter's embeddings.
  void forget(const std::string& name) const;

 private:
  void take_embeddings_of_adapter();
  void check_tensor(const WeightSpec& weight) const;
  void check_tied_head() const;

  std::filesystem::path folder_;
  std::shared_ptr<const AdapterFolder> adapter_;
  ModelConfig config_;
  SafetensorsFolder stored_;
};

}  // namespace predgen

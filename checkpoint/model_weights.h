#pragma once

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "model/weights/adapter.h"

namespace predgen {

/// Whether a folder has weights of the layer of ModelConfig::mtp(). GGUF files name them otherwise,
/// and theirs are left out.
bool has_mtp_weights(const StoredTensors& tensors, const ModelConfig& config);

/// Every weight of a checkpoint by its name, on disk until asked for. Full embeddings saved with an
/// adapter replace the checkpoint's and set the vocabulary size.
class ModelWeights {
 public:
  /// UserError names missing, superfluous, misshapen and quantised tensors, and a tied head that is
  /// stored with other values. Tensors of parts beside the text model (vision, sound) are left out,
  /// and the log says so. `adapter`: null for none.
  explicit ModelWeights(const Checkpoint& checkpoint,
                        std::shared_ptr<const AdapterFolder> adapter = nullptr);

  const ModelConfig& config() const { return config_; }
  /// Whether mtp_weights() are there, too.
  bool has_mtp() const { return has_mtp_; }
  /// As in StoredTensors.
  TensorShape shape(const std::string& name) const;
  at::Tensor tensor(const std::string& name) const;
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const;
  at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const;
  /// As in StoredTensors; an adapter's embeddings have none.
  std::optional<CodeLayout> code_layout(const std::string& name) const;
  CodedRows read_codes(const std::string& name, int64_t begin, int64_t end) const;
  /// Does nothing for an adapter's embeddings.
  void forget(const std::string& name) const;

 private:
  void take_embeddings_of_adapter();
  /// As the files call it: tied embeddings may be there as the head alone.
  const std::string& stored_name(const std::string& name) const;
  void check_tensor(const WeightSpec& weight) const;
  void check_tied_head() const;

  std::string name_;  // the checkpoint's
  std::shared_ptr<const AdapterFolder> adapter_;
  ModelConfig config_;
  bool has_mtp_ = false;
  std::unique_ptr<const StoredTensors> stored_;
  const std::string head_name_ = kHeadName;
};

}  // namespace predgen

#pragma once

#include <map>
#include <memory>
#include <string>

#include "checkpoint/model_weights.h"
#include "model/transformer.h"

namespace predgen {

/// A base model with an adapter merged into it, W + scaling * B A, computed in float32 on demand,
/// so that a model larger than memory can be streamed block by block.
class MergedWeights {
 public:
  /// `adapter`: a PEFT folder, or empty. Throws the UserErrors of ModelWeights and AdapterFolder.
  MergedWeights(const Checkpoint& base, const std::filesystem::path& adapter);

  /// The base's, with the vocabulary size of the adapter's embeddings if it has any.
  const ModelConfig& config() const { return base_.config(); }
  const ModelWeights& base() const { return base_; }
  /// The layer whose adapter is merged into this weight, or null.
  const Linear* adapter_of(const std::string& weight_name) const {
    const auto found = adapted_.find(weight_name);
    return found == adapted_.end() ? nullptr : found->second;
  }
  bool replaces_embeddings() const { return adapter_ && !adapter_->embeddings().empty(); }

  /// Rows [begin, end) in float32.
  at::Tensor rows(const std::string& name, int64_t begin, int64_t end) const;

  struct Comparison {
    int64_t num_tensors = 0, num_merged = 0;
    double max_difference = 0.0;  // |stored - (W + scaling * B A)|
    double worst_rounding = 0.0;  // largest error, as a share of what `dtype`'s rounding allows
  };
  /// Reads `stored`, which was written as `dtype`, and compares it with base and adapter in
  /// float64, not with rows(). UserError names a tensor that differs by more than rounding.
  Comparison compare(const ModelWeights& stored, at::ScalarType dtype) const;

 private:
  double compare_block(const std::string& name, const Linear* linear, const at::Tensor& found,
                       int64_t begin, int64_t end, Comparison& comparison) const;

  std::shared_ptr<const AdapterFolder> adapter_;
  ModelWeights base_;
  std::unique_ptr<Transformer> names_;            // names and shapes only, no weights
  std::map<std::string, const Linear*> adapted_;  // by weight name
};

}  // namespace predgen

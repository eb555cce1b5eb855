#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/token_kernels.h"
#include "model/cpu/cpu_products.h"
#include "model/parts/layer_inputs.h"
#include "model/pass_tokens.h"

namespace predgen {

/// What the layers of a pass on a CPU get of each new token beside the output of the layer before
/// (LayerInputs), in float32. Threads of a team call it together; between the calls they meet.
class CpuLayerInputs {
 public:
  /// False if the kernels do not support its tensors. `embedding`: the model's, whose type the
  /// others must have. Called by one thread.
  bool read(const LayerInputs& from, const ModelConfig& config, const at::Tensor& embedding);
  /// Called by one thread.
  void prepare(int64_t num_tokens);
  CpuProducts::Linears projection() const { return projection_; }
  /// Products of the embeddings [T,L * P], to be filled in.
  float* values() { return values_.data(); }
  /// Makes of these products the inputs of tokens [begin,end).
  void combine(std::span<const PassToken> tokens, int64_t begin, int64_t end,
               const TokenKernels& kernels);
  /// A token's, of one layer [P].
  const float* of(int64_t token, int64_t layer) const {
    return values_.data() + (token * num_layers_ + layer) * width_;
  }

 private:
  const LayerInputs* from_ = nullptr;
  int64_t num_layers_ = 0, width_ = 0;
  float eps_ = 0.0f, projected_scale_ = 0.0f, row_scale_ = 0.0f;
  std::array<CpuLinear, 1> projection_;
  std::vector<float> values_, rows_;
};

}  // namespace predgen

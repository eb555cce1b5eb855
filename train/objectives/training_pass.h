#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "model/transformer.h"

namespace predgen {

// Shapes: B rows, T tokens, E hidden size.

/// A pass over whole rows whose backward pass runs the model's first num_recomputed() layers again
/// instead of keeping what they computed (Chen et al. 2016, one layer a segment): of each it keeps
/// the input, [B,T,E]. Gradients are the same to the bit. Dropout draws from the default generator
/// by layer, so that a layer's second run draws the same.
class TrainingPass {
 public:
  /// As Transformer::hidden_states(). Without gradients it is the same.
  TrainingPass(const Transformer& model, const at::Tensor& tokens_BT,
               const at::Tensor& positions_BT = {}, const at::Tensor& seen_B1TT = {});

  /// Output of the last norm. Its graph ends at the layers that are recomputed.
  const at::Tensor& hidden_BTE() const { return hidden_BTE_; }

  /// Once, after the graph of hidden_BTE() has run backward: the rest of the way down.
  void finish_backward();

 private:
  at::Tensor run_layer(int64_t index, const at::Tensor& hidden_BTE);
  void seed_dropout(const char* purpose, int64_t index) const;

  const Transformer& model_;
  Transformer::Rows rows_;
  const uint64_t seed_;
  at::Tensor embedded_BTE_;
  std::vector<at::Tensor> inputs_;  // of the layers that will run again
  at::Tensor boundary_BTE_;         // what the first layer of the graph read; undefined: embeddings
  at::Tensor hidden_BTE_;
};

}  // namespace predgen

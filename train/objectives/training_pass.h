#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "model/transformer.h"

namespace predgen::train {

// Shapes: B rows, T tokens, E hidden size.

/// A pass over whole rows, layer by layer, whose backward pass recomputes the model's first
/// num_recomputed() layers instead of keeping their activations (Chen et al. 2016, one layer per
/// segment): of each it keeps the input, [B,T,E]. Gradients are bitwise the same. Several passes
/// may run a layer in turn: its weights are then fetched once for all of them.
class TrainingPass {
 public:
  /// With gradients if they are enabled now. `dropout_seed`: LibTorch's generator is set from it
  /// and the layer's index, so that a layer's second run draws the same.
  TrainingPass(const Transformer& model, Transformer::Rows rows, uint64_t dropout_seed);

  /// Layers 0, 1, .. in order.
  void run_layer(int64_t index);
  /// After the last layer: output of the last norm, [B,T,E].
  const at::Tensor& finish();

  /// From the gradient of finish()'s output down to the layers that are recomputed.
  void backward(const at::Tensor& gradient_BTE);
  /// Then the recomputed layers, num_recomputed() - 1, .. 0.
  void backward_layer(int64_t index);
  /// Then the embeddings.
  void backward_embedding();

 private:
  void begin_graph();
  at::Tensor layer(int64_t index, const at::Tensor& hidden_BTE);

  const Transformer& model_;
  Transformer::Rows rows_;
  const uint64_t dropout_seed_;
  const int64_t num_recomputed_;
  at::Tensor embedded_BTE_;
  at::Tensor hidden_BTE_;
  std::vector<at::Tensor> inputs_;  // of the layers that will be recomputed
  at::Tensor boundary_BTE_;         // input of the first layer of the autograd graph
  at::Tensor gradient_BTE_;         // for the output of the next layer to run backward
};

}  // namespace predgen::train

#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "train/objectives/objective.h"

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

class Communicator;

/// One number per loss term: its sum, its count of positions, or its mean. The mean is taken over
/// the whole step (all micro-batches and ranks), so that splitting a batch does not change the
/// loss.
using LossTerms = std::map<std::string, double>;

LossTerms counts_of(const PackedBatch& batch);
void add(const LossTerms& more, LossTerms& terms);
/// Each rank's terms become the sums over the ranks; all ranks must have terms of the same names.
void all_reduce(LossTerms& terms, Communicator& communicator);
/// sum / count for every term whose count is not 0.
LossTerms means_of(const LossTerms& sums, const LossTerms& counts);

/// Sum of each term over its positions, double [] on the model's device: reading one waits for it.
using TermSums = std::map<std::string, at::Tensor>;
/// The sums in order of their names, [terms].
at::Tensor stack(const TermSums& sums);

/// Adds to the gradients of the trained weights those of
///   sum over batches and terms of  weight * sum / denominators[term],
/// a term whose denominator is 0 left out. All batches go through a recomputed layer in
/// turn, so that it is fetched twice however many there are; the layer inputs of each batch are
/// kept. `dropout_seeds`: one per batch.
TermSums accumulate_gradients(Transformer& model, std::span<const PackedBatch> batches,
                              const LossTerms& denominators,
                              std::span<const uint64_t> dropout_seeds);

/// The sums of the terms over the batch, without gradients.
LossTerms evaluate_terms(Transformer& model, const PackedBatch& batch);

}  // namespace predgen::train

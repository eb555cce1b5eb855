#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "model/transformer.h"
#include "train/objectives/loss_terms.h"

namespace predgen::train {

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

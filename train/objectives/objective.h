#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/record.h"
#include "model/transformer.h"
#include "train/objectives/loss_terms.h"

namespace predgen {

using Batch = std::vector<Record>;

/// What a batch teaches. Owns the backward passes, so terms free their graphs in turn.
class Objective {
 public:
  virtual ~Objective() = default;

  /// Denominators of the terms for this batch, without running the model: the trainer adds them
  /// over the step before the first backward pass. `step_seed` as in accumulate_gradients().
  virtual LossTerms count(const Batch& batch, uint64_t step_seed) const = 0;

  /// Adds the gradient of  sum over terms of weight * sum_term / denominators[term]  to the
  /// model's trainable tensors. `step_seed` drives every random choice (which state), by record,
  /// so that splitting a batch does not change it.
  virtual LossTerms accumulate_gradients(Transformer& model, const Batch& batch,
                                         const std::map<std::string, double>& denominators,
                                         uint64_t step_seed) = 0;

  /// The same terms without gradients or random choices, for held-out data.
  virtual LossTerms evaluate(const Transformer& model, const Batch& batch) const = 0;
};

}  // namespace predgen

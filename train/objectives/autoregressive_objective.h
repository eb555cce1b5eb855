#pragma once

#include "train/objectives/objective.h"

namespace predgen {

/// Cross-entropy of the tokens whose loss_mask is 1, term "ar".
class AutoregressiveObjective : public Objective {
 public:
  LossTerms count(const Batch& batch, uint64_t step_seed) const override;
  LossTerms accumulate_gradients(Transformer& model, const Batch& batch,
                                 const std::map<std::string, double>& denominators,
                                 uint64_t step_seed) override;
  LossTerms evaluate(const Transformer& model, const Batch& batch) const override;
};

/// Targets of a batch: the first token of a row is none, nothing predicts it.
int64_t count_targets(const Batch& batch);

/// Sum of the cross-entropy over the targets; adds scale * gradient when gradients are enabled.
LossTerm cross_entropy_term(const Transformer& model, const Batch& batch, double scale);

/// Every token of the batch, prompts too.
int64_t count_positions(const Batch& batch);

/// Sum of KL(model without its adapter || model) over every position: it needs no labels, so
/// prompts teach as well. Gradients as above.
LossTerm base_divergence_term(Transformer& model, const Batch& batch, double scale);

}  // namespace predgen

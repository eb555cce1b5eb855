#pragma once

#include "train/objectives/objective.h"
#include "train/objectives/packed_row.h"

namespace predgen::train {

/// Cross-entropy of the tokens whose loss_mask is 1, term "ar". Branches of a record are segments.
class AutoregressiveObjective : public Objective {
 public:
  /// `label_smoothing` in [0, 1).
  explicit AutoregressiveObjective(double label_smoothing) : label_smoothing_(label_smoothing) {}

  PackedBatch pack(const Batch& batch, uint64_t step_seed) const override;
  PackedBatch pack_held_out(const Batch& batch) const override;
  int64_t longest_row(const data::RecordSize& size) const override { return size.tokens; }

 private:
  const double label_smoothing_;
};

/// Adds a record's targets to `term`, and the tokens that predict them to its row, number `index`
/// of the batch. The first token is never a target, as nothing predicts it.
void add_labels(const data::Record& record, int64_t index, PackedRow& row, TaughtTerm& term);

}  // namespace predgen::train

#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset_store.h"
#include "train/objectives/packed_batch.h"

namespace predgen::train {

using Batch = std::vector<data::Record>;

/// Defines what a batch teaches. Runs no model.
class Objective {
 public:
  virtual ~Objective() = default;

  /// For training. `step_seed` drives every random choice (which state) per record, so that
  /// splitting a batch does not change it. The counts of the terms are added over the step before
  /// the first backward pass.
  virtual PackedBatch pack(const Batch& batch, uint64_t step_seed) const = 0;
  /// For held-out data: no random choice, and the plain losses, so that runs can be compared.
  virtual PackedBatch pack_held_out(const Batch& batch) const = 0;
  /// The most tokens that a row of pack() may have for a record of this size.
  virtual int64_t longest_row(const data::RecordSize& size) const = 0;
};

}  // namespace predgen::train

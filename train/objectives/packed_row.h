#pragma once

#include <vector>

#include "data/dataset_store.h"
#include "train/objectives/consistency_objective.h"
#include "train/objectives/objective.h"

namespace predgen::train {

/// One record as a single row: prompt and fixed points first, then noisy states as segments in
/// place of the blocks they are states of. One pass thus computes the teacher's and the student's
/// view, and all states of a record share the prompt's computation.
struct PackedRow {
  TokenIds tokens;
  std::vector<Segment> segments;
  /// Position student[i] is taught the model's prediction at position teacher[i] of the clean part.
  /// Empty: nothing to learn.
  std::vector<int64_t> student, teacher;
  std::vector<double> weights;  // of the positions
  double count = 0.0;           // their weight in the mean
};

/// Depends only on (record, options, step_seed).
PackedRow pack_row(const data::Record& record, const ConsistencyOptions& options,
                   uint64_t step_seed);

/// Ensures that the first `size` tokens of the record are in the row, each seeing all before it,
/// and returns their columns: the clean part as far as it agrees with them, then a segment.
std::vector<int64_t> add_tokens(const data::Record& record, int64_t size, PackedRow& row);

/// Index of the first token of `state` that is not the fixed point's; its size if there is none.
int64_t first_mismatch(const TokenIds& state, const TokenIds& fixed_point);

/// The state whose (n - first_mismatch) / n is nearest to linspace(0,1,window)[block % window];
/// the earliest of equals.
size_t progressive_state(const data::TrajectoryBlock& block, int64_t block_index, int64_t window);

}  // namespace predgen::train

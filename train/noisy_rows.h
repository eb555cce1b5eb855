#pragma once

#include <vector>

#include "data/record.h"
#include "train/consistency_objective.h"
#include "train/token_rows.h"

namespace predgen {

/// A noisy row and the positions in it that are compared with the same columns of the clean row.
struct NoisyRow {
  TokenIds tokens;
  std::vector<int64_t> columns;
  double weight = 1.0;  // of each position
};

/// The model inputs of one record: [prompt, fixed points] and its noisy rows. `noisy` holds only
/// rows with something to learn.
struct RecordRows {
  TokenIds clean;
  std::vector<NoisyRow> noisy;
  int64_t num_positions() const;
};

/// Depends on (record, options, step_seed) only.
RecordRows make_noisy_rows(const Record& record, const ConsistencyOptions& options,
                           uint64_t step_seed);

/// Index of the first token of `state` that is not the fixed point's; its size if there is none.
int64_t first_mismatch(const TokenIds& state, const TokenIds& fixed_point);

/// The state whose (n - first_mismatch) / n is nearest to linspace(0,1,window)[block % window];
/// the earliest of equals.
size_t progressive_state(const TrajectoryBlock& block, int64_t block_index, int64_t window);

}  // namespace predgen

#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/transformer.h"
#include "text/token_ids.h"
#include "train/objectives/training_pass.h"

namespace predgen {

// Shapes: R rows, T tokens of the longest row, N chosen positions, E hidden size.

/// One place in the rows of a batch.
struct RowPosition {
  int64_t row = 0;
  int64_t column = 0;
};

/// Tokens [begin, begin+size) of a row that stand at positions place, place+1, .. of the same row:
/// they see what is before `place`, and each other in order; nobody else sees them.
struct Segment {
  int64_t begin = 0, size = 0, place = 0;
};

/// Rows padded at the right with token 0, int64 [R,T].
at::Tensor pad_rows(const std::vector<TokenIds>& rows, at::Device device);

/// Runs `rows`; with gradients when enabled. `segments`: of each row, or empty.
TrainingPass run_rows(const Transformer& model, const std::vector<TokenIds>& rows,
                      const std::vector<std::vector<Segment>>& segments = {});

/// What a pass gave at `positions`, [N,E].
at::Tensor hidden_at(const TrainingPass& pass, const std::vector<RowPosition>& positions);

}  // namespace predgen

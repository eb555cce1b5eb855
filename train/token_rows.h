#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/token_ids.h"
#include "model/transformer.h"

namespace predgen {

// Shapes: R rows, T tokens of the longest row, N chosen positions, E hidden size.

/// One place in the rows of a batch.
struct RowPosition {
  int64_t row = 0;
  int64_t column = 0;
};

/// Rows padded at the right with token 0, int64 [R,T].
at::Tensor pad_rows(const std::vector<TokenIds>& rows, at::Device device);

/// The last norm's output of `rows` at `positions`, [N,E]; with gradients when enabled.
at::Tensor hidden_at(const Transformer& model, const std::vector<TokenIds>& rows,
                     const std::vector<RowPosition>& positions);

}  // namespace predgen

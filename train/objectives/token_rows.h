#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/transformer.h"
#include "train/objectives/packed_batch.h"

namespace predgen::train {

// Shapes: R rows, T tokens of the longest row, N chosen positions.

/// Rows right-padded with token 0, for a pass of `model`, on its device. `segments`: per row, or
/// empty. `gates_adapter`: the adapter applies only in segments.
Transformer::Rows read_rows(const Transformer& model, const std::vector<TokenIds>& rows,
                            const std::vector<std::vector<Segment>>& segments = {},
                            bool gates_adapter = false);

/// Indices of `positions` in the concatenation of rows of `width` tokens, int64 [N].
at::Tensor flat_positions(const std::vector<RowPosition>& positions, int64_t width,
                          at::Device device);

}  // namespace predgen::train

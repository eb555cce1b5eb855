#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "checkpoint/merged_weights.h"

namespace predgen {

/// How far apart the logits of two models are, over all positions of a few fixed rows.
struct LogitDifference {
  double max = 0.0, mean = 0.0;
  double largest_logit = 0.0;  // of base and adapter
  int64_t num_positions = 0, num_same_top = 0;
};

/// The logits of base and adapter, y = x W^T + scaling * x A^T B^T, against those of `stored`, the
/// merged model that was written; some 250 tokens in float32 on `device`. Only one layer and a few
/// rows of embeddings and head are in memory at a time, so models larger than memory can be
/// compared. Calls `between()` after each layer; it may throw.
LogitDifference compare_logits(const MergedWeights& merged, const ModelWeights& stored,
                               at::Device device, const std::function<void()>& between);

}  // namespace predgen

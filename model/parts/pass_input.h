#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/language_model.h"
#include "model/parts/attention.h"

namespace predgen {

// Shapes: T new tokens of all sequences.

/// What the layers see of a pass over several sequences.
struct PassInput {
  struct Options {
    size_t num_states;          // layers that keep one
    int64_t num_folded;         // AttentionMasks'
    at::TensorOptions options;  // of queries
  };
  PassInput(std::span<const SequenceStep> steps, const Options& how);

  at::Tensor inputs_2T;  // token ids, and their positions
  std::vector<CachedRows> rows;
};

/// [1,T,1]: 1 for masks, 0 for other tokens.
at::Tensor mask_gate(std::span<const SequenceStep> steps);

}  // namespace predgen

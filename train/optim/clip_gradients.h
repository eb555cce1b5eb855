#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace predgen {

/// Scales the gradients, in place, so that their common 2-norm is at most `max_norm`; 0: not at
/// all. Returns the norm that they had. Leaves them as they are if that is not finite.
double clip_gradients(const std::vector<at::Tensor>& gradients, double max_norm);

}  // namespace predgen

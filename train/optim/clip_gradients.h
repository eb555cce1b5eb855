#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace predgen::train {

/// The common 2-norm of the gradients, float32 []: nothing waits for it.
at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients);
/// Scales gradients whose norm is `norm`, in place, so that it is at most `max_norm`; 0: not at
/// all.
void clip_gradients(const std::vector<at::Tensor>& gradients, double norm, double max_norm);

}  // namespace predgen::train

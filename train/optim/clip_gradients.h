#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace predgen::train {

/// The global 2-norm of the gradients, float32 []; does not wait for the device.
at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients);
/// Scales gradients of norm `norm` in place to a norm of at most `max_norm`; 0: no
/// clipping.
void clip_gradients(const std::vector<at::Tensor>& gradients, double norm, double max_norm);

}  // namespace predgen::train

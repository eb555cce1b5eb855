#pragma once

#include <ATen/ATen.h>

#include "model/model_config.h"

namespace predgen {

// What several parts compute in LibTorch's operators.

/// RMSNorm over the last dimension, as the architecture computes it; `input` itself if `weight` is
/// undefined.
at::Tensor rms_norm(const ModelConfig& config, const at::Tensor& input, const at::Tensor& weight);

/// What a gated MLP makes of its gates and the products beside them.
at::Tensor activated(Activation activation, const at::Tensor& gates, const at::Tensor& products);

/// RMSNorm over the last dimension, without a weight.
at::Tensor unit_norm(const ModelConfig& config, const at::Tensor& input);

/// cap * tanh(x / cap); x where cap is 0.
at::Tensor soft_cap(const at::Tensor& x, double cap);

}  // namespace predgen

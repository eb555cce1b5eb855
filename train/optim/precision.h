#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace predgen::train {

enum class Compute { kFloat32, kBFloat16 };

/// Whether bfloat16 products are faster than float32: not on a CPU without instructions for them,
/// where LibTorch takes four times as long.
bool has_bfloat16_products(at::Device device);

/// While it lives, matrix products of float32 weights run in bfloat16 (kBFloat16), numerically
/// sensitive operations in float32: LibTorch's autocast. Affects the calling thread.
class ComputeScope {
 public:
  ComputeScope(Compute compute, at::Device device);
  ~ComputeScope();
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  const at::DeviceType device_;
  const bool was_enabled_;
};

/// No gradients while it lives. Also keeps autocast from caching weights that it converted without
/// a graph: a later pass with gradients would use those copies and train nothing.
class NoGradScope {
 public:
  NoGradScope();
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

 private:
  const at::NoGradGuard no_grad_;
  const bool was_caching_;
};

}  // namespace predgen::train

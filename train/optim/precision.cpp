#include "train/optim/precision.h"

#include <ATen/Version.h>
#include <ATen/autocast_mode.h>

namespace predgen::train {

bool has_bfloat16_products(at::Device device) {
#ifdef __x86_64__
  if (device.is_cpu()) {
    return at::get_cpu_capability().starts_with("AVX512") && __builtin_cpu_supports("avx512bf16");
  }
#endif
  return true;
}

ComputeScope::ComputeScope(Compute compute, at::Device device)
    : device_(device.type()), was_enabled_(at::autocast::is_autocast_enabled(device_)) {
  if (compute == Compute::kBFloat16) at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, compute == Compute::kBFloat16);
}

ComputeScope::~ComputeScope() {
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
}

NoGradScope::NoGradScope() : was_caching_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::set_autocast_cache_enabled(false);
}

NoGradScope::~NoGradScope() { at::autocast::set_autocast_cache_enabled(was_caching_); }

}  // namespace predgen::train

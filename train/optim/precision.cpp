#include "train/optim/precision.h"

#include <ATen/autocast_mode.h>

namespace predgen {

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

}  // namespace predgen

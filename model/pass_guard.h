#pragma once

#include <atomic>

#include "core/error.h"

namespace predgen {

/// Held during a pass; `flag` is the model's. Error if another pass of the model is under way.
class PassGuard {
 public:
  explicit PassGuard(std::atomic_flag& flag) : flag_(flag) {
    PREDGEN_CHECK(!flag.test_and_set(std::memory_order_acquire), "passes of a model overlap");
  }
  ~PassGuard() { flag_.clear(std::memory_order_release); }
  PassGuard(const PassGuard&) = delete;
  PassGuard& operator=(const PassGuard&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace predgen

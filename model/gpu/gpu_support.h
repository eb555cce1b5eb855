#pragma once

#include <c10/core/Device.h>

#include <map>
#include <string>

#include "core/mutex.h"
#include "kernels/gpu/gpu_kernels.h"

namespace predgen {

/// Names the installed and the required driver, for a message; empty if it is new enough.
std::string driver_problem(const GpuSupport& support);

/// Why kernels cannot run here, in one line; empty if they can.
std::string kernel_problem(const GpuSupport& support);

/// What each GPU of a machine can run of the compiled kernels, asked once. Thread-safe.
class UsableKernels {
 public:
  /// Null: none were compiled.
  explicit UsableKernels(const GpuKernels* compiled) : compiled_(compiled) {}

  /// Null if they cannot run on this GPU; then one log line says why, once.
  const GpuKernels* on(int device) { return found(device).kernels; }
  /// Null also if the GPU has no products with 4- and 8-bit weights: below compute capability 8.0.
  const GpuKernels* with_groups_on(int device) {
    const Found& usable = found(device);
    return usable.has_groups ? usable.kernels : nullptr;
  }

 private:
  struct Found {
    const GpuKernels* kernels = nullptr;
    bool has_groups = false;
  };
  const Found& found(int device);

  const GpuKernels* const compiled_;
  Mutex mutex_;
  std::map<int, Found> by_device_ GUARDED_BY(mutex_);
};

/// Our CUDA kernels, or null if they cannot run on this GPU: UsableKernels of the opened module.
const GpuKernels* cuda_kernels(c10::Device device);
/// The same for products with 4- and 8-bit weights.
const GpuKernels* group_kernels(c10::Device device);

}  // namespace predgen

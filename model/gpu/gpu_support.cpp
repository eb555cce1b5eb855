#include "model/gpu/gpu_support.h"

#include <fmt/format.h>

#include "core/log.h"
#include "model/device_memory.h"
#include "model/gpu/cuda_module.h"

namespace predgen {
namespace {

std::string to_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

std::string driver_problem(const GpuSupport& support) {
  // A driver runs what was built for any CUDA of its major version.
  if (support.driver / 1000 >= support.needed / 1000) return "";
  const std::string needed = fmt::format("one for CUDA {} is needed", to_text(support.needed));
  return support.driver == 0 ? "there is no NVIDIA driver here, " + needed
                             : fmt::format("the NVIDIA driver here is for CUDA {}, {}",
                                           to_text(support.driver), needed);
}

std::string kernel_problem(const GpuSupport& support) {
  if (support.error == nullptr) return "";
  const std::string driver = driver_problem(support);
  return fmt::format(
      "our kernels cannot be loaded on this GPU ({}): {}; models run in LibTorch's operators, "
      "which "
      "is slower",
      support.error,
      driver.empty() ? "build with this GPU in -DPREDGEN_CUDA_ARCHITECTURES, or with all" : driver);
}

const UsableKernels::Found& UsableKernels::found(int device) {
  const Lock lock(mutex_);
  const auto [place, is_new] = by_device_.try_emplace(device);
  Found& usable = place->second;
  if (!is_new || compiled_ == nullptr) return usable;
  const GpuSupport support = compiled_->support(device);
  const std::string problem = kernel_problem(support);
  if (problem.empty()) {
    usable = {.kernels = compiled_, .has_groups = support.capability >= 80};
  } else {
    spdlog::warn("{}", problem);
  }
  return usable;
}

namespace {

UsableKernels& usable_kernels() {
  static UsableKernels kernels(cuda_support().module ? cuda_support().module->kernels : nullptr);
  return kernels;
}

}  // namespace

const GpuKernels* cuda_kernels(c10::Device device) { return usable_kernels().on(index_of(device)); }

const GpuKernels* group_kernels(c10::Device device) {
  return usable_kernels().with_groups_on(index_of(device));
}

}  // namespace predgen

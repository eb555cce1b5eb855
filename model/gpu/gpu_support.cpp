#include "model/gpu/gpu_support.h"

#include <fmt/format.h>

#include "core/log.h"
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

const GpuKernels* usable_kernels(const GpuKernels* compiled) {
  if (compiled == nullptr) return nullptr;
  const std::string problem = kernel_problem(compiled->support());
  if (problem.empty()) return compiled;
  spdlog::warn("{}", problem);
  return nullptr;
}

const GpuKernels* cuda_kernels() {
  static const GpuKernels* const kernels =
      usable_kernels(cuda_support().module ? cuda_support().module->kernels : nullptr);
  return kernels;
}

const GpuKernels* group_kernels() {
  static const bool has_them = cuda_kernels() && cuda_kernels()->support().capability >= 80;
  return has_them ? cuda_kernels() : nullptr;
}

}  // namespace predgen

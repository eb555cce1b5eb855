#include "model/gpu/cuda_module.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "model/gpu/gpu_support.h"

namespace predgen {
namespace {

template <typename Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// The GPUs that NVIDIA's driver shows; none if there is no driver. As cuda.h declares them; 0 is
/// success.
std::optional<int> ask_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // stays while the process runs
  if (!driver) return std::nullopt;
  auto* init = find<int(unsigned)>(driver, "cuInit");
  auto* count = find<int(int*)>(driver, "cuDeviceGetCount");
  int num_gpus = 0;
  return init && count && init(0) == 0 && count(&num_gpus) == 0 ? num_gpus : 0;
}

CudaSupport look() {
  CudaSupport support;
  const std::optional<int> shown = ask_driver();
  support.has_driver = shown.has_value();
  if (shown.value_or(0) == 0) return support;
  try {
    support.module = &open_cuda_module(cuda_module_file());
  } catch (const UserError& error) {
    support.problem = error.what();
    return support;
  }
  if (at::globalContext().hasCUDA()) {
    support.num_gpus = static_cast<uint8_t>(at::detail::getCUDAHooks().deviceCount());
  } else if (!at::detail::getCUDAHooks().hasCUDART()) {
    support.problem = "LibTorch was asked for CUDA before it was opened";  // a bug of ours
  } else {
    const GpuKernels* const kernels = support.module->kernels;
    const std::string driver = kernels ? driver_problem(kernels->support(0)) : "";
    support.problem = driver.empty() ? "LibTorch cannot use the GPU with this driver" : driver;
  }
  return support;
}

}  // namespace

std::filesystem::path cuda_module_file() {
  const char* given = std::getenv("PREDGEN_CUDA_MODULE");
  if (given && *given) return given;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libpredgen_cuda.so";
}

const CudaModule& open_cuda_module(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) {
    throw UserError(
        "{}: there is no such file, which models on a GPU need: make it with scripts/build.sh "
        "--gpu, take it from predgen-cuda-*.tar.zst, or name it with PREDGEN_CUDA_MODULE",
        file.string());
  }
  // Global, so that other libraries find the CUDA runtime that it loads.
  void* library = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const std::string why = first_line(dlerror());
    throw UserError("{}: cannot be loaded: {}; it needs LibTorch {} for CUDA", file.string(), why,
                    TORCH_VERSION);
  }
  auto* table = find<const CudaModule*()>(library, "predgen_cuda_module");
  if (!table) throw UserError("{}: is not predgen's module for CUDA", file.string());
  const CudaModule* const module = table();
  if (std::string_view(module->build) != PREDGEN_BUILD) {
    throw UserError("{}: is of predgen {}, and this program of {}: take both from one build",
                    file.string(), module->build, PREDGEN_BUILD);
  }
  return *module;
}

const CudaSupport& cuda_support() {
  static const CudaSupport support = look();
  return support;
}

std::unique_ptr<const GraphMemory> make_graph_memory(at::Device device, StreamPriority priority) {
  const CudaModule* const module = device.is_cuda() ? cuda_support().module : nullptr;
  if (!module || !module->make_graph_memory) return nullptr;
  return module->make_graph_memory(device, priority);
}

}  // namespace predgen

#include "model/load_options.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "core/error.h"
#include "model/gpu/gpu_support.h"

namespace predgen {

at::Device parse_device(const std::string& name) {
  const bool has_cuda = at::globalContext().hasCUDA();
  if (name == "auto") return has_cuda ? at::kCUDA : at::kCPU;
  if (name != "cpu" && !name.starts_with("cuda")) {
    throw UserError("device \"{}\": must be auto, cpu, cuda or cuda:N", name);
  }
  if (name != "cpu" && !has_cuda) {
    const GpuKernels* const kernels = compiled_kernels();
    const GpuSupport support = kernels ? kernels->support() : GpuSupport{};
    throw UserError("device \"{}\": no CUDA GPU is visible{}", name,
                    support.driver == 0 || driver_problem(support).empty()
                        ? ""
                        : ": " + driver_problem(support));
  }
  try {
    const at::Device device(name);
    const c10::DeviceIndex num_gpus = at::detail::getCUDAHooks().deviceCount();
    if (device.is_cuda() && device.has_index() && device.index() >= num_gpus) {
      throw UserError("device \"{}\": there are only {} GPUs", name, num_gpus);
    }
    return device;
  } catch (const c10::Error&) {
    throw UserError("device \"{}\": must be auto, cpu, cuda or cuda:N", name);
  }
}

at::ScalarType parse_dtype(const std::string& name) {
  if (name == "fp32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  throw UserError("type \"{}\": must be fp32 or bf16", name);
}

at::ScalarType choose_dtype(const LoadOptions& options, at::Device device, at::ScalarType on_cpu) {
  if (options.dtype != "auto") return parse_dtype(options.dtype);
  const bool is_packed = options.quantization != Quantization::kNone;
  return device.is_cuda() || is_packed ? at::kBFloat16 : on_cpu;
}

at::ScalarType cpu_dtype(at::ScalarType stored, int64_t num_parameters) {
  constexpr int64_t kMany = 50'000'000;
  return stored == at::kBFloat16 && num_parameters >= kMany ? at::kBFloat16 : at::kFloat;
}

Quantization choose_quantization(const LoadOptions& options, at::Device device, bool has_codes,
                                 const std::string& where) {
  if (options.quantization == Quantization::kStored) {
    if (!has_codes) {
      throw UserError("{}: is not stored in 8 or fewer bits: quantise it to int8 or int4", where);
    }
  }
  const bool is_free = options.quantization == Quantization::kNone && options.dtype == "auto" &&
                       !options.leaves_linears;
  const bool has_kernels = device.is_cpu() || group_kernels() != nullptr;
  return is_free && has_codes && has_kernels ? Quantization::kStored : options.quantization;
}

}  // namespace predgen

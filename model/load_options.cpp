#include "model/load_options.h"

#include "core/error.h"
#include "core/log.h"
#include "model/gpu/cuda_module.h"
#include "model/gpu/gpu_support.h"

namespace predgen {
namespace {

/// CUDA if there is one; warns once about a GPU that cannot be used.
at::Device any_device() {
  if (has_cuda()) return at::kCUDA;
  static const bool is_told = [] {
    const std::string& problem = cuda_support().problem;
    if (!problem.empty()) spdlog::warn("running on the CPU, as with --device cpu: {}", problem);
    return true;
  }();
  static_cast<void>(is_told);
  return at::kCPU;
}

}  // namespace

at::Device parse_device(const std::string& name) {
  if (name == "auto") return any_device();
  if (name != "cpu" && !name.starts_with("cuda")) {
    throw UserError("device \"{}\": must be auto, cpu, cuda or cuda:N", name);
  }
  if (name == "cpu") return at::kCPU;
  if (!has_cuda()) {
    const std::string& problem = cuda_support().problem;
    throw UserError("device \"{}\": {}", name,
                    problem.empty() ? "no CUDA GPU is visible" : problem);
  }
  try {
    const at::Device device(name);
    const int num_gpus = cuda_support().num_gpus;
    if (device.has_index() && device.index() >= num_gpus) {
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
  const bool has_kernels = device.is_cpu() || group_kernels(device) != nullptr;
  return is_free && has_codes && has_kernels ? Quantization::kStored : options.quantization;
}

}  // namespace predgen

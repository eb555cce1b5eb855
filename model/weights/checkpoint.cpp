#include "model/weights/checkpoint.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "core/error.h"
#include "core/log.h"
#include "model/gpu/gpu_support.h"
#include "model/weights/adapter.h"
#include "model/weights/model_weights.h"

namespace predgen {
namespace fs = std::filesystem;

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

at::ScalarType choose_dtype(const LoadOptions& options, at::Device device) {
  if (options.dtype != "auto") return parse_dtype(options.dtype);
  return device.is_cuda() || options.quantization != Quantization::kNone ? at::kBFloat16
                                                                         : at::kFloat;
}

std::unique_ptr<Transformer> load_model(const fs::path& folder, const fs::path& adapter,
                                        const LoadOptions& options) {
  const at::Device device = parse_device(options.device);
  const at::ScalarType dtype = choose_dtype(options, device);
  const auto kept_adapter =
      adapter.empty() ? nullptr : std::make_shared<const AdapterFolder>(adapter);
  const ModelWeights weights(folder, kept_adapter);
  const bool quantizes = options.quantization != Quantization::kNone;
  auto model = std::make_unique<Transformer>(weights.config(), [&](const std::string& name) {
    // One matrix at a time goes to the device to be quantised there.
    const bool waits = quantization_of(name, options.quantization) != Quantization::kNone ||
                       (options.leaves_linears && name.starts_with("model.layers.") &&
                        quantization_of(name, Quantization::kInt8) != Quantization::kNone);
    return waits ? weights.tensor(name) : weights.load(name, device, dtype);
  });
  if (kept_adapter) kept_adapter->attach(*model);
  if (quantizes) {
    const double error = model->quantize(options.quantization,
                                         [&](const std::string& name) { weights.forget(name); });
    spdlog::info("quantised: the mean relative error of a weight matrix is {:.4f}", error);
  }
  model->set_width_invariant(options.width_invariant);
  if (!options.leaves_linears) model->join_products();
  if (options.prepares_passes) model->prepare_passes();
  return model;
}

}  // namespace predgen

#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>

#include "model/memory_estimate.h"
#include "model/quantized_weight.h"

namespace predgen {

struct LoadOptions {
  std::string device = "auto";  // "auto": CUDA if there is one; "cpu", "cuda", "cuda:1"
  std::string dtype = "auto";   // "auto": bfloat16 on CUDA, cpu_dtype() on a CPU; "fp32", "bf16"
  /// Unless kNone, dtype "auto" is bfloat16 everywhere. Even with kNone, a quantised checkpoint
  /// runs as stored on a CPU unless `dtype` is given.
  Quantization quantization = Quantization::kNone;
  int64_t state_memory = kStateMemory;  // see Transformer::set_state_memory()
  /// The weights of the layers' linears stay views of the file, as stored, for who takes them out.
  bool leaves_linears = false;
  bool has_mtp = false;         // loads Transformer::mtp(); UserError if the checkpoint has none
  bool prepares_passes = true;  // see Transformer::prepare_passes()
  /// Bytes that the weights may take; 0: what the device has left.
  int64_t most_bytes = 0;
  /// Told on the loading thread, tensor by tensor, which share of the weights is in place: 0 to 1.
  using Progress = std::function<void(double share)>;
  Progress on_progress{};
};

/// "fp32" or "bf16" to the tensor type; UserError otherwise.
at::ScalarType parse_dtype(const std::string& name);
/// LoadOptions::device to a device; UserError for other words, or a GPU that is not there.
at::Device parse_device(const std::string& name);
/// `on_cpu`: what "auto" means on a CPU.
at::ScalarType choose_dtype(const LoadOptions& options, at::Device device,
                            at::ScalarType on_cpu = at::kFloat);
/// Weights stored in bfloat16 stay so in a large model, as every decoding step reads all of them. A
/// small model is fast in float32, too.
at::ScalarType cpu_dtype(at::ScalarType stored, int64_t num_parameters);
/// `has_codes`: whether the checkpoint stores matrices in few bits; UserError if kStored is
/// requested without them, or elsewhere than on a CPU. `where`: the checkpoint.
Quantization choose_quantization(const LoadOptions& options, at::Device device, bool has_codes,
                                 const std::string& where);

}  // namespace predgen

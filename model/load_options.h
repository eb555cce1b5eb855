#pragma once

#include <ATen/ATen.h>

#include <string>

#include "model/quantized_weight.h"

namespace predgen {

struct LoadOptions {
  std::string device = "auto";  // "auto": CUDA if there is one; "cpu", "cuda", "cuda:1"
  std::string dtype = "auto";   // "auto": bfloat16 on CUDA, cpu_dtype() on a CPU; "fp32", "bf16"
  /// With another kind "auto" is bfloat16 everywhere. With none, too, a checkpoint in few bits runs
  /// as stored on a CPU unless a type is given.
  Quantization quantization = Quantization::kNone;
  bool width_invariant = false;  // see Transformer::set_width_invariant()
  /// The weights of the layers' linears stay views of the file, as stored, for who takes them out.
  bool leaves_linears = false;
  bool prepares_passes = true;  // see Transformer::prepare_passes()
};

/// "fp32" or "bf16" to the tensor type; UserError otherwise.
at::ScalarType parse_dtype(const std::string& name);
/// What LoadOptions says; UserError for other words, or a GPU that is not there.
at::Device parse_device(const std::string& name);
/// `on_cpu`: what "auto" is there.
at::ScalarType choose_dtype(const LoadOptions& options, at::Device device,
                            at::ScalarType on_cpu = at::kFloat);
/// Weights that are stored in bfloat16 stay so where they are many: a step reads all of them. In
/// float32 a small model is fast, too.
at::ScalarType cpu_dtype(at::ScalarType stored, int64_t num_parameters);
/// `has_codes`: whether matrices of the checkpoint are stored in few bits; UserError if kStored is
/// asked for without, or elsewhere than on a CPU. `where`: the checkpoint.
Quantization choose_quantization(const LoadOptions& options, at::Device device, bool has_codes,
                                 const std::string& where);

}  // namespace predgen

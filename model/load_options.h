#pragma once

#include <ATen/ATen.h>

#include <string>

#include "model/quantized_weight.h"

namespace predgen {

struct LoadOptions {
  std::string device = "auto";  // "auto": CUDA if there is one; "cpu", "cuda", "cuda:1"
  std::string dtype = "auto";   // "auto": float32 on a CPU, bfloat16 on CUDA; "fp32", "bf16"
  Quantization quantization = Quantization::kNone;  // then "auto" is bfloat16 everywhere
  bool width_invariant = false;                     // see Transformer::set_width_invariant()
  /// The weights of the layers' linears stay views of the file, as stored, for who takes them out.
  bool leaves_linears = false;
  bool prepares_passes = true;  // see Transformer::prepare_passes()
};

/// "fp32" or "bf16" to the tensor type; UserError otherwise.
at::ScalarType parse_dtype(const std::string& name);
/// What LoadOptions says; UserError for other words, or a GPU that is not there.
at::Device parse_device(const std::string& name);
at::ScalarType choose_dtype(const LoadOptions& options, at::Device device);

}  // namespace predgen

#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>

#include "model/quantized_weight.h"

namespace predgen {

/// input W^T + bias in the type of the input, for a frozen weight [out,in] kept in another type: it
/// is converted here, and again in the backward pass, so that the autograd graph holds no copy.
/// `bias` may be undefined.
at::Tensor narrow_linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

/// y = x W^T + b, plus scaling * dropout(x) A^T B^T when a LoRA adapter is attached
/// (Hu et al. 2022). W [out,in], A [r,in], B [out,r].
struct Linear {
  std::string name;   // Hugging Face module path, "model.layers.0.self_attn.q_proj"
  at::Tensor weight;  // undefined when `quantized` stands in for it
  std::shared_ptr<const QuantizedWeight> quantized;
  at::Tensor bias;            // undefined: none
  at::Tensor lora_A, lora_B;  // undefined: no adapter
  double lora_scaling = 0.0;
  double lora_dropout = 0.0;  // used only while `training`
  bool training = false;
  bool adapter_enabled = true;
  bool is_module = true;  // in transformers, so that PEFT finds it; experts are none
  double share = 1.0;     // WeightSpec::share

  bool has_adapter() const { return lora_A.defined() && adapter_enabled; }
  /// `gate`: factor of the adapter's contribution to each row, [..,rows,1]; undefined: 1.
  at::Tensor operator()(const at::Tensor& input, const at::Tensor& gate = {}) const;
};

}  // namespace predgen

#include "model/cpu/cpu_linear.h"

namespace predgen {
namespace {

bool lies_here(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.is_cpu() && tensor.scalar_type() == type && tensor.is_contiguous();
}

RowProduct product_of(const at::Tensor& weight) {
  return {.weight = weight.const_data_ptr(), .in = weight.size(1), .out = weight.size(0)};
}

}  // namespace

std::optional<CpuLinear> CpuLinear::of(const Linear& linear, bool with_adapter) {
  CpuLinear result;
  if (linear.quantized) {
    if (!linear.quantized->is_on_cpu()) return {};
    std::tie(result.weights, result.product) = linear.quantized->row_product();
  } else {
    const bool is_wide = linear.weight.scalar_type() == at::kFloat;
    if (!is_wide && linear.weight.scalar_type() != at::kBFloat16) return {};
    if (!lies_here(linear.weight, linear.weight.scalar_type())) return {};
    result.weights = is_wide ? RowWeights::kFloat32 : RowWeights::kBfloat16;
    result.product = product_of(linear.weight);
  }
  if (linear.bias.defined()) {
    result.has_wide_bias = linear.bias.scalar_type() == at::kFloat;
    if (!lies_here(linear.bias, result.has_wide_bias ? at::kFloat : at::kBFloat16)) return {};
    result.bias = linear.bias.const_data_ptr();
  }
  if (with_adapter && linear.has_adapter()) {
    if (!lies_here(linear.lora_A, at::kFloat) || !lies_here(linear.lora_B, at::kFloat)) return {};
    if (linear.training && linear.lora_dropout > 0) return {};
    result.lora_A = product_of(linear.lora_A);
    result.lora_B = product_of(linear.lora_B);
    result.lora_scaling = static_cast<float>(linear.lora_scaling);
  }
  return result;
}

}  // namespace predgen

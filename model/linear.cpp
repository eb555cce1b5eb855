#include "model/linear.h"

namespace predgen {

at::Tensor Linear::operator()(const at::Tensor& input) const {
  at::Tensor output;
  if (quantized) {
    output = (*quantized)(input);
    if (bias.defined()) output = output + bias;
  } else {
    output =
        at::linear(input, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
  }
  if (!lora_A.defined() || !adapter_enabled) return output;
  // Adapters stay in float32 beside bfloat16 weights, as in PEFT: small updates would be lost.
  at::Tensor adapted = input.to(lora_A.scalar_type());
  if (training && lora_dropout > 0) adapted = at::dropout(adapted, lora_dropout, true);
  adapted = at::linear(at::linear(adapted, lora_A), lora_B);
  return output + (adapted * lora_scaling).to(output.scalar_type());
}

}  // namespace predgen

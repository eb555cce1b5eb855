#include "model/linear.h"

namespace predgen {

at::Tensor Linear::operator()(const at::Tensor& input) const {
  const at::Tensor output =
      at::linear(input, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
  if (!lora_A.defined()) return output;
  // Adapters stay in float32 beside bfloat16 weights, as in PEFT: small updates would be lost.
  at::Tensor adapted = input.to(lora_A.scalar_type());
  if (training && lora_dropout > 0) adapted = at::dropout(adapted, lora_dropout, true);
  adapted = at::linear(at::linear(adapted, lora_A), lora_B);
  return output + (adapted * lora_scaling).to(output.scalar_type());
}

}  // namespace predgen

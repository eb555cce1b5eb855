#include "model/linear.h"

#include <ATen/autocast_mode.h>

#include "model/narrow_linear.h"

namespace predgen {

at::Tensor Linear::operator()(const at::Tensor& input) const {
  const bool narrows = at::autocast::is_autocast_enabled(input.device().type());
  at::Tensor output;
  if (quantized) {
    output = (*quantized)(input);
    if (bias.defined()) output = output + bias;
  } else {
    const at::ScalarType type = input.scalar_type();
    const bool same_type =
        weight.scalar_type() == type && (!bias.defined() || bias.scalar_type() == type);
    output = same_type || narrows
                 ? at::linear(input, weight, bias.defined() ? std::optional(bias) : std::nullopt)
                 : narrow_linear(input, weight, bias);
  }
  if (!lora_A.defined() || !adapter_enabled) return output;
  // Adapters stay in float32 beside bfloat16 weights, as in PEFT: small updates would be lost.
  // Under autocast a float32 copy of the input would only be made and dropped.
  at::Tensor adapted = narrows ? input : input.to(lora_A.scalar_type());
  if (training && lora_dropout > 0) adapted = at::dropout(adapted, lora_dropout, true);
  adapted = at::linear(at::linear(adapted, lora_A) * lora_scaling, lora_B);
  return output + adapted.to(output.scalar_type());
}

}  // namespace predgen

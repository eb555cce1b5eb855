#include "model/linear.h"

#include <ATen/autocast_mode.h>

#include "model/narrow_linear.h"
#include "model/row_product.h"

namespace predgen {
namespace {

at::Tensor gated(const at::Tensor& adapted, const at::Tensor& gate) {
  return gate.defined() ? adapted * gate.to(adapted.scalar_type()) : adapted;
}

}  // namespace

at::Tensor Linear::operator()(const at::Tensor& input, const at::Tensor& gate) const {
  const bool narrows = at::autocast::is_autocast_enabled(input.device().type());
  at::Tensor output;
  if (quantized) {
    output = (*quantized)(input, bias);
  } else {
    const at::ScalarType type = input.scalar_type();
    const bool same_type =
        weight.scalar_type() == type && (!bias.defined() || bias.scalar_type() == type);
    if (narrows) {
      output = at::linear(input, weight, bias.defined() ? std::optional(bias) : std::nullopt);
    } else {
      output = same_type ? few_row_linear(input, weight, bias) : narrow_linear(input, weight, bias);
    }
  }
  if (!has_adapter()) return output;
  // Adapters stay in float32 beside bfloat16 weights, as in PEFT: small updates would be lost.
  // Under autocast a float32 copy of the input would be made for nothing.
  at::Tensor adapted = narrows ? input : input.to(lora_A.scalar_type());
  if (training && lora_dropout > 0) adapted = at::dropout(adapted, lora_dropout, true);
  adapted = at::linear(gated(at::linear(adapted, lora_A) * lora_scaling, gate), lora_B);
  return output + adapted.to(output.scalar_type());
}

}  // namespace predgen

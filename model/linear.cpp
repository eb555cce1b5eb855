#include "model/linear.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/error.h"
#include "model/row_product.h"

namespace predgen {
namespace {

struct NarrowLinear : torch::autograd::Function<NarrowLinear> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight) {
    context->save_for_backward({weight});
    return at::linear(input, weight.to(input.scalar_type()));
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor& gradient = gradients.front();
    const at::Tensor weight = context->get_saved_variables().front();
    return {at::matmul(gradient, weight.to(gradient.scalar_type())), at::Tensor()};
  }
};

}  // namespace

at::Tensor narrow_linear(const at::Tensor& input, const at::Tensor& weight,
                         const at::Tensor& bias) {
  PREDGEN_CHECK(!weight.requires_grad(), "a weight of another type than its input is trained");
  const at::Tensor output = NarrowLinear::apply(input, weight);
  return bias.defined() ? output + bias : output;
}

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

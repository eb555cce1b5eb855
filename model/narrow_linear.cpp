#include "model/narrow_linear.h"

#include <torch/csrc/autograd/custom_function.h>

#include "core/error.h"

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

}  // namespace predgen

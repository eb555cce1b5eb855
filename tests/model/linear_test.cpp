#include "model/linear.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

namespace predgen {
namespace {

at::Tensor some_values(at::IntArrayRef shape, uint64_t seed) {
  return at::empty(shape, at::kFloat).normal_(0.0, 1.0, at::detail::createCPUGenerator(seed));
}

TEST(NarrowLinear, IsTheProductOfTheWidenedWeightBothWays) {
  const at::Tensor weight = some_values({5, 7}, 1).to(at::kBFloat16);
  for (const at::Tensor& bias : {at::Tensor(), some_values({5}, 2).to(at::kBFloat16)}) {
    const at::Tensor input = some_values({2, 3, 7}, 3).requires_grad_(true);
    const at::Tensor plain_input = input.detach().clone().requires_grad_(true);
    const at::Tensor gradient = some_values({2, 3, 5}, 4);

    const at::Tensor output = narrow_linear(input, weight, bias);
    at::Tensor plain = at::linear(plain_input, weight.to(at::kFloat));
    if (bias.defined()) plain = plain + bias;
    EXPECT_EQ(output.scalar_type(), at::kFloat);
    EXPECT_TRUE(output.allclose(plain, 1e-5, 1e-5));

    output.backward(gradient);
    plain.backward(gradient);
    EXPECT_TRUE(input.grad().allclose(plain_input.grad(), 1e-5, 1e-5));
  }
}

}  // namespace
}  // namespace predgen

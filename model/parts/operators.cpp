#include "model/parts/operators.h"

#include "core/error.h"

namespace predgen {

at::Tensor rms_norm(const ModelConfig& config, const at::Tensor& input, const at::Tensor& weight) {
  if (!weight.defined()) return input;
  const at::Tensor wide = input.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, true) + config.rms_norm_eps);
  const double offset = config.norm_offset;
  const at::Tensor factors = offset == 0 ? weight : weight.to(at::kFloat) + offset;
  if (config.norm_scales_wide) return (wide * scale * factors).to(input.scalar_type());
  return (wide * scale).to(input.scalar_type()) * factors.to(weight.scalar_type());
}

at::Tensor activated(Activation activation, const at::Tensor& gates, const at::Tensor& products) {
  constexpr double kLimit = 7.0, kSlope = 1.702;
  switch (activation) {
    case Activation::kSilu:
      return at::silu(gates) * products;
    case Activation::kGeluTanh:
      return at::gelu(gates, "tanh") * products;
    case Activation::kClampedSwiglu: {
      const at::Tensor gate = gates.clamp_max(kLimit);
      return gate * at::sigmoid(gate * kSlope) * (products.clamp(-kLimit, kLimit) + 1);
    }
  }
  throw Error("an unknown activation");
}

at::Tensor unit_norm(const ModelConfig& config, const at::Tensor& input) {
  const at::Tensor wide = input.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, true) + config.rms_norm_eps);
  return (wide * scale).to(input.scalar_type());
}

at::Tensor soft_cap(const at::Tensor& x, double cap) {
  return cap == 0 ? x : at::tanh(x / cap) * cap;
}

}  // namespace predgen

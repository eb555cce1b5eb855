#include "checkpoint/merged_weights.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "tensors/safetensors.h"

namespace predgen {

namespace {

/// |rounded - exact| / |exact| of one rounding to the nearest.
double unit_roundoff(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -24);
}

}  // namespace

MergedWeights::MergedWeights(const Checkpoint& base, const std::filesystem::path& adapter)
    : adapter_(adapter.empty() ? nullptr : std::make_shared<const AdapterFolder>(adapter)),
      base_(base, adapter_),
      names_(std::make_unique<Transformer>(base_.config(), [this](const std::string& name) {
        const TensorShape shape = base_.shape(name);
        return at::zeros({1}, shape.dtype).expand(shape.shape);
      })) {
  if (!adapter_) return;
  if (!adapter_->config().lora.mask_tokens.empty()) {
    throw UserError(
        "{}: cannot be merged: it counts for its \"mask_tokens\" alone; give it beside "
        "the model, as --adapter",
        adapter.string());
  }
  adapter_->attach(*names_);
  for (const Linear* linear : names_->linears()) {
    if (linear->lora_A.defined()) adapted_[linear->name + ".weight"] = linear;
  }
}

at::Tensor MergedWeights::rows(const std::string& name, int64_t begin, int64_t end) const {
  const at::NoGradGuard no_grad;
  at::Tensor rows = base_.read_rows(name, begin, end).to(at::kFloat);
  if (const Linear* linear = adapter_of(name)) {
    const at::Tensor B = linear->lora_B.narrow(0, begin, end - begin);
    rows.addmm_(B, linear->lora_A, /*beta=*/1, /*alpha=*/linear->lora_scaling);
  }
  return rows;
}

MergedWeights::Comparison MergedWeights::compare(const ModelWeights& stored,
                                                 at::ScalarType dtype) const {
  const at::NoGradGuard no_grad;
  Comparison comparison;
  for (const WeightSpec& weight : weight_layout(config())) {
    const Linear* linear = adapter_of(weight.name);
    ++comparison.num_tensors;
    if (linear) ++comparison.num_merged;
    for_each_block(weight.shape, [&](int64_t begin, int64_t end) {
      const at::Tensor found = stored.read_rows(weight.name, begin, end);
      if (found.scalar_type() != dtype) {
        throw UserError("tensor {} was written as {}", weight.name,
                        at::toString(found.scalar_type()));
      }
      const double worst = compare_block(weight.name, linear, found, begin, end, comparison);
      if (!(worst <= 1.0)) {  // NaN too
        throw UserError(
            "tensor {} was written with an error {:.3g} times as large as rounding to {} explains",
            weight.name, worst, at::toString(dtype));
      }
      comparison.worst_rounding = std::max(comparison.worst_rounding, worst);
    });
  }
  return comparison;
}

/// The largest error of the block as a share of what is allowed: one rounding to the stored type,
/// and float32 arithmetic on sums whose terms are bounded by Cauchy and Schwarz.
double MergedWeights::compare_block(const std::string& name, const Linear* linear,
                                    const at::Tensor& found, int64_t begin, int64_t end,
                                    Comparison& comparison) const {
  at::Tensor exact = base_.read_rows(name, begin, end).to(at::kDouble);
  at::Tensor allowed = at::zeros({}, at::kDouble);
  if (linear) {
    const at::Tensor A = linear->lora_A.to(at::kDouble);
    const at::Tensor B =
        linear->lora_B.narrow(0, begin, end - begin).to(at::kDouble) * linear->lora_scaling;
    allowed = exact.abs();
    exact.addmm_(B, A);
    allowed = (allowed + at::outer(B.norm(2, {1}), A.norm(2, {0}))) * std::ldexp(1.0, -20);
  }
  allowed = allowed + exact.abs() * unit_roundoff(found.scalar_type()) + 1e-40;  // subnormals
  const at::Tensor error = (found.to(at::kDouble) - exact).abs();
  comparison.max_difference = std::max(comparison.max_difference, error.max().item<double>());
  return (error / allowed).max().item<double>();
}

}  // namespace predgen

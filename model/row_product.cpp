#include "model/row_product.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <limits>
#include <optional>
#include <vector>

#include "core/error.h"
#include "kernels/row_product_cpu.h"

namespace predgen {
namespace {

const uint16_t* bits(const at::Tensor& tensor) {
  return reinterpret_cast<const uint16_t*>(tensor.const_data_ptr<at::BFloat16>());
}
uint16_t* mutable_bits(const at::Tensor& tensor) {
  return reinterpret_cast<uint16_t*>(tensor.mutable_data_ptr<at::BFloat16>());
}

bool wants_gradient(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

/// Whether our kernel supports it.
bool are_few_rows(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  if (!input.is_cpu() || input.scalar_type() != at::kBFloat16 || input.dim() == 0) return false;
  const int64_t in = input.size(-1);
  if (in == 0 || input.numel() == 0 || input.numel() / in > max_rows_on_cpu()) return false;
  if (weight.dim() != 2 || weight.size(1) != in || weight.scalar_type() != at::kBFloat16 ||
      !weight.is_cpu() || !weight.is_contiguous()) {
    return false;
  }
  if (bias.defined() && (bias.scalar_type() != at::kBFloat16 || !bias.is_contiguous() ||
                         !bias.is_cpu() || bias.numel() != weight.size(0))) {
    return false;
  }
  const bool has_gradient =
      at::GradMode::is_enabled() &&
      (wants_gradient(input) || wants_gradient(weight) || wants_gradient(bias));
  return !has_gradient && has_vector_kernels_on_cpu();
}

}  // namespace

int64_t max_rows_on_cpu() {
  return is_libtorch_faster_at_many_rows() ? kFewRowsOnCpu : std::numeric_limits<int64_t>::max();
}

bool has_int8_product(const at::Tensor& x) {
  return x.is_cpu() && x.dim() == 2 && x.scalar_type() == at::kBFloat16 && x.size(0) >= 1 &&
         x.size(1) >= 1 && x.size(0) <= max_rows_on_cpu();
}

at::Tensor int8_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  PREDGEN_CHECK(has_int8_product(x), "{} rows of {} inputs", x.size(0), x.size(1));
  PREDGEN_CHECK(values.dim() == 2 && values.size(1) == x.size(1) && values.is_contiguous() &&
                    values.scalar_type() == at::kChar && values.is_cpu(),
                "{} inputs for a weight of {}", x.size(1), values.dim() == 2 ? values.size(1) : -1);
  const int64_t out = values.size(0);
  PREDGEN_CHECK(scales.is_contiguous() && scales.numel() == out &&
                    scales.scalar_type() == at::kBFloat16 && scales.is_cpu(),
                "{} scales for {} outputs", scales.numel(), out);
  const at::Tensor rows = x.contiguous();
  at::Tensor y = at::empty({x.size(0), out}, x.options());
  run_on_cpu(RowWeights::kInt8, {.x = bits(rows),
                                 .weight = values.const_data_ptr(),
                                 .scales = bits(scales),
                                 .y = mutable_bits(y),
                                 .rows = x.size(0),
                                 .in = x.size(1),
                                 .out = out});
  return y;
}

at::Tensor grouped_product(const at::Tensor& x, const GroupedMatrix& matrix) {
  matrix.check();
  PREDGEN_CHECK(
      x.dim() == 2 && x.scalar_type() == at::kBFloat16 && x.is_cpu() && matrix.in() == x.size(1),
      "{} inputs for {}-bit weights of {}", x.size(-1), matrix.bits,
      c10::str(matrix.words.sizes()));
  const at::Tensor rows = x.contiguous();
  at::Tensor y = at::empty({x.size(0), matrix.out}, x.options());
  RowProduct product = matrix.product();
  product.x = bits(rows);
  product.y = mutable_bits(y);
  product.rows = x.size(0);
  run_on_cpu(matrix.weights(), product);
  return y;
}

at::Tensor few_row_linear(const at::Tensor& input, const at::Tensor& weight,
                          const at::Tensor& bias) {
  if (!are_few_rows(input, weight, bias)) {
    return at::linear(input, weight, bias.defined() ? std::optional(bias) : std::nullopt);
  }
  const at::Tensor rows = input.contiguous();
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = weight.size(0);
  at::Tensor y = at::empty(sizes, input.options());
  run_on_cpu(RowWeights::kBfloat16, {.x = bits(rows),
                                     .weight = weight.const_data_ptr(),
                                     .bias = bias.defined() ? bits(bias) : nullptr,
                                     .y = mutable_bits(y),
                                     .rows = input.numel() / input.size(-1),
                                     .in = input.size(-1),
                                     .out = weight.size(0)});
  return y;
}

}  // namespace predgen

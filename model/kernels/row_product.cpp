#include "model/kernels/row_product.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "core/error.h"

namespace predgen {
namespace {

constexpr int64_t kLibTorchStep =
    16;  // inputs that its kernel takes at a time, also beyond the end
constexpr int64_t kBfloat16Step = 64;    // that ours takes
constexpr int64_t kMaxInputs = 1 << 20;  // whose sums fit into 32 bits

bool are_rows(const at::Tensor& x, int64_t max_rows) {
  return x.dim() == 2 && x.scalar_type() == at::kBFloat16 && x.size(0) >= 1 &&
         x.size(0) <= max_rows && x.size(1) >= 1;
}

const uint16_t* bits(const at::Tensor& tensor) {
  return reinterpret_cast<const uint16_t*>(tensor.const_data_ptr<at::BFloat16>());
}

/// What both kinds of product ask of their weights, beside what has_.._product() says of x.
void check_weight(const at::Tensor& x, const at::Tensor& weight, at::ScalarType type) {
  PREDGEN_CHECK(weight.dim() == 2 && weight.size(1) == x.size(1) && weight.is_contiguous() &&
                    weight.scalar_type() == type && weight.device() == x.device(),
                "{} inputs of {} for a weight of {}", x.size(1), x.device().str(),
                weight.dim() == 2 ? weight.size(1) : -1);
}

}  // namespace

bool has_int8_product(const at::Tensor& x) {
  if (!are_rows(x, kFewRows)) return false;
  if (x.is_cuda()) return has_int8_product_on_cuda();
  return x.is_cpu() && (has_int8_product_on_cpu() || x.size(1) % kLibTorchStep == 0);
}

at::Tensor int8_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  PREDGEN_CHECK(has_int8_product(x) && x.size(1) <= kMaxInputs, "{} rows of {} inputs", x.size(0),
                x.size(1));
  check_weight(x, values, at::kChar);
  const int64_t out = values.size(0);
  PREDGEN_CHECK(scales.is_contiguous() && scales.numel() == out && scales.device() == x.device(),
                "{} scales for {} outputs", scales.numel(), out);
  const at::Tensor rows = x.contiguous();
  if (x.is_cpu() && !has_int8_product_on_cpu()) {
    // Its form for AVX2 crashes where vectors of x do not begin at multiples of their size.
    const auto address = reinterpret_cast<uintptr_t>(rows.const_data_ptr());
    return at::_weight_int8pack_mm(address % 32 == 0 ? rows : rows.clone(), values, scales);
  }
  const at::Tensor y = at::empty({x.size(0), out}, x.options());
  const Int8Product product{
      .x = bits(rows),
      .values = values.const_data_ptr<int8_t>(),
      .scales = bits(scales),
      .y = reinterpret_cast<uint16_t*>(y.mutable_data_ptr<at::BFloat16>()),
      .rows = x.size(0),
      .in = x.size(1),
      .out = out,
  };
  if (x.is_cpu()) {
    run_on_cpu(product);
    return y;
  }
  const c10::DeviceGuard guard(x.device());
  const c10::impl::VirtualGuardImpl cuda(x.device().type());
  const char* problem = run_on_cuda(product, cuda.getStream(x.device()).native_handle());
  if (problem) throw Error("the kernel for 8-bit weights cannot be launched: {}", problem);
  return y;
}

bool has_bfloat16_product(const at::Tensor& x) {
  return are_rows(x, 2) && x.is_cpu() && x.size(1) % kBfloat16Step == 0 &&
         has_bfloat16_product_on_cpu();
}

at::Tensor bfloat16_product(const at::Tensor& x, const at::Tensor& weight) {
  PREDGEN_CHECK(has_bfloat16_product(x), "{} rows of {} inputs", x.size(0), x.size(1));
  check_weight(x, weight, at::kBFloat16);
  const at::Tensor rows = x.contiguous(), y = at::empty({x.size(0), weight.size(0)}, x.options());
  run_on_cpu(Bfloat16Product{
      .x = bits(rows),
      .weight = bits(weight),
      .y = reinterpret_cast<uint16_t*>(y.mutable_data_ptr<at::BFloat16>()),
      .rows = x.size(0),
      .in = x.size(1),
      .out = weight.size(0),
  });
  return y;
}

}  // namespace predgen

#include "model/kernels/row_product.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "core/error.h"
#include "model/gpu/gpu_support.h"
#include "model/kernels/row_product_cpu.h"
#include "model/stream_priority.h"
#include "model/threads/parallel_ranges.h"

namespace predgen {
namespace {

bool are_rows(const at::Tensor& x) {
  return x.dim() == 2 && x.scalar_type() == at::kBFloat16 && x.size(0) >= 1 && x.size(1) >= 1;
}

const uint16_t* bits(const at::Tensor& tensor) {
  return reinterpret_cast<const uint16_t*>(tensor.const_data_ptr<at::BFloat16>());
}
uint16_t* mutable_bits(const at::Tensor& tensor) {
  return reinterpret_cast<uint16_t*>(tensor.mutable_data_ptr<at::BFloat16>());
}

void check_int8(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  PREDGEN_CHECK(values.dim() == 2 && values.size(1) == x.size(1) && values.is_contiguous() &&
                    values.scalar_type() == at::kChar && values.device() == x.device(),
                "{} inputs of {} for a weight of {}", x.size(1), x.device().str(),
                values.dim() == 2 ? values.size(1) : -1);
  const int64_t out = values.size(0);
  PREDGEN_CHECK(scales.is_contiguous() && scales.numel() == out &&
                    scales.scalar_type() == at::kBFloat16 && scales.device() == x.device(),
                "{} scales for {} outputs", scales.numel(), out);
}

at::Tensor int8_product_on_cpu(const at::Tensor& x, const at::Tensor& values,
                               const at::Tensor& scales) {
  check_int8(x, values, scales);
  const at::Tensor rows = x.contiguous();
  at::Tensor y = at::empty({x.size(0), values.size(0)}, x.options());
  run_on_cpu(RowWeights::kInt8, {.x = bits(rows),
                                 .weight = values.const_data_ptr(),
                                 .scales = bits(scales),
                                 .y = mutable_bits(y),
                                 .rows = x.size(0),
                                 .in = x.size(1),
                                 .out = values.size(0)});
  return y;
}

bool is_int4_group(int64_t inputs) {
  return inputs >= 32 && inputs <= kInt4MaxGroup && inputs % kInt4Unit == 0;
}

void check_int4(const at::Tensor& words, const at::Tensor& scales) {
  PREDGEN_CHECK(words.dim() == 3 && words.size(2) == kInt4Panel && words.is_contiguous() &&
                    words.scalar_type() == at::kInt && words.is_cpu(),
                "4-bit weights of {}", c10::str(words.sizes()));
  const int64_t in = words.size(1) * kInt4Unit;
  PREDGEN_CHECK(scales.dim() == 4 && scales.size(0) == words.size(0) && scales.size(1) > 0 &&
                    in % scales.size(1) == 0 && scales.size(2) == kInt4Panel &&
                    scales.size(3) == 2 && is_int4_group(in / scales.size(1)) &&
                    scales.is_contiguous() && scales.scalar_type() == at::kBFloat16,
                "scales of {} for 4-bit weights of {}", c10::str(scales.sizes()),
                c10::str(words.sizes()));
}

bool wants_gradient(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

/// Whether our kernel takes it.
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
  if (!are_rows(x)) return false;
  return x.is_cuda() ? x.size(0) <= kFewRowsOnCuda && cuda_kernels() != nullptr
                     : x.is_cpu() && x.size(0) <= max_rows_on_cpu();
}

at::Tensor int8_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  PREDGEN_CHECK(has_int8_product(x), "{} rows of {} inputs", x.size(0), x.size(1));
  if (x.is_cpu()) return int8_product_on_cpu(x, values, scales);
  check_int8(x, values, scales);
  const at::Tensor rows = x.contiguous();
  at::Tensor y = at::empty({x.size(0), values.size(0)}, x.options());
  const c10::DeviceGuard guard(x.device());
  const GpuKernels& kernels = *cuda_kernels();
  kernels.int8_product({.x = rows.const_data_ptr(),
                        .values = values.const_data_ptr<int8_t>(),
                        .scales = scales.const_data_ptr(),
                        .y = y.mutable_data_ptr(),
                        .rows = x.size(0),
                        .in = x.size(1),
                        .out = values.size(0)},
                       current_cuda_stream(x.device()));
  if (const char* problem = kernels.error()) {
    throw Error("the kernel for 8-bit weights cannot be launched: {}", problem);
  }
  return y;
}

at::Tensor pack_int4(const at::Tensor& q) {
  PREDGEN_CHECK(q.dim() == 2 && q.is_cpu() && q.scalar_type() == at::kByte && q.is_contiguous() &&
                    q.size(0) % kInt4Panel == 0 && q.size(1) % kInt4Unit == 0,
                "4-bit weights of {}", c10::str(q.sizes()));
  const int64_t units = q.size(1) / kInt4Unit;
  at::Tensor words =
      at::empty({q.size(0) / kInt4Panel, units, kInt4Panel}, q.options().dtype(at::kInt));
  auto* to = words.mutable_data_ptr<int32_t>();
  const auto* values = q.const_data_ptr<uint8_t>();
  const auto pack_panel = [&](int64_t panel) {
    for (int64_t unit = 0; unit < units; ++unit) {
      for (int64_t out = 0; out < kInt4Panel; ++out) {
        uint64_t bytes = 0;
        std::memcpy(&bytes, values + (panel * kInt4Panel + out) * q.size(1) + unit * kInt4Unit,
                    sizeof(bytes));
        uint32_t word = 0;
        for (int k = 0; k < 4; ++k) {
          word |= static_cast<uint32_t>(bytes >> 16 * k & 0xF) << 4 * k |
                  static_cast<uint32_t>(bytes >> (16 * k + 8) & 0xF) << (16 + 4 * k);
        }
        to[(panel * units + unit) * kInt4Panel + out] = static_cast<int32_t>(word);
      }
    }
  };
  parallel_ranges(words.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) pack_panel(panel);
  });
  return words;
}

at::Tensor int4_product(const at::Tensor& x, const at::Tensor& words, const at::Tensor& scales) {
  check_int4(words, scales);
  PREDGEN_CHECK(x.dim() == 2 && x.scalar_type() == at::kBFloat16 && x.is_cpu() &&
                    words.size(1) * kInt4Unit == x.size(1),
                "{} inputs for 4-bit weights of {}", x.size(-1), c10::str(words.sizes()));
  const int64_t out = words.size(0) * kInt4Panel;
  const at::Tensor rows = x.contiguous();
  at::Tensor y = at::empty({x.size(0), out}, x.options());
  run_on_cpu(RowWeights::kInt4, {.x = bits(rows),
                                 .weight = words.const_data_ptr(),
                                 .scales = bits(scales),
                                 .y = mutable_bits(y),
                                 .rows = x.size(0),
                                 .in = x.size(1),
                                 .out = out,
                                 .group = x.size(1) / scales.size(1)});
  return y;
}

at::Tensor widen_int4(const at::Tensor& words, const at::Tensor& scales) {
  check_int4(words, scales);
  const int64_t in = words.size(1) * kInt4Unit;
  const RowProduct product{.weight = words.const_data_ptr(),
                           .scales = bits(scales),
                           .in = in,
                           .group = in / scales.size(1)};
  at::Tensor wide = at::empty({words.size(0) * kInt4Panel, in}, scales.options());
  uint16_t* to = mutable_bits(wide);
  parallel_ranges(words.size(0), 1, [&](int64_t begin, int64_t end) {
    row_kernels().widen_int4(product, to, begin, end);
  });
  return wide;
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

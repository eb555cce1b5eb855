#include "kernels/int4_words.h"

#include <cstring>

#include "core/error.h"
#include "kernels/row_product_cpu.h"
#include "kernels/threads/parallel_ranges.h"

namespace predgen {
namespace {

bool is_int4_group(int64_t inputs) {
  return inputs >= 32 && inputs <= kInt4MaxGroup && inputs % kInt4Unit == 0;
}

}  // namespace

void check_int4_words(const at::Tensor& words, const at::Tensor& scales) {
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

at::Tensor widen_int4(const at::Tensor& words, const at::Tensor& scales) {
  check_int4_words(words, scales);
  const int64_t in = words.size(1) * kInt4Unit;
  const RowProduct product{
      .weight = words.const_data_ptr(),
      .scales = reinterpret_cast<const uint16_t*>(scales.const_data_ptr<at::BFloat16>()),
      .in = in,
      .group = in / scales.size(1)};
  at::Tensor wide = at::empty({words.size(0) * kInt4Panel, in}, scales.options());
  auto* to = reinterpret_cast<uint16_t*>(wide.mutable_data_ptr<at::BFloat16>());
  parallel_ranges(words.size(0), 1, [&](int64_t begin, int64_t end) {
    row_kernels().widen_int4(product, to, begin, end);
  });
  return wide;
}

}  // namespace predgen

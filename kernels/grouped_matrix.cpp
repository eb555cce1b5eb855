#include "kernels/grouped_matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "kernels/half.h"
#include "kernels/threads/thread_team.h"

namespace predgen {
namespace {

constexpr int64_t kInputStep = 8;

int64_t panels_of(int64_t rows) { return (rows + kGroupPanel - 1) / kGroupPanel; }

bool is_group(int64_t inputs) {
  return inputs >= 16 && inputs <= kMaxGroup && inputs % kInputStep == 0;
}

/// [rows,..] zero-padded to whole panels, as [panels,16,..].
at::Tensor in_panels(const at::Tensor& tensor) {
  const int64_t panels = panels_of(tensor.size(0)), missing = panels * kGroupPanel - tensor.size(0);
  std::vector<int64_t> sizes = tensor.sizes().vec();
  sizes[0] = missing;
  const at::Tensor whole =
      missing == 0 ? tensor : at::cat({tensor, at::zeros(sizes, tensor.options())});
  sizes[0] = kGroupPanel;
  sizes.insert(sizes.begin(), panels);
  return whole.view(sizes);
}

const uint16_t* bits_of(const at::Tensor& halves) {
  return reinterpret_cast<const uint16_t*>(halves.const_data_ptr<at::Half>());
}

/// 8 values in 4 bits, which are the bytes of `bytes`.
uint32_t word_of_4_bits(uint64_t bytes) {
  constexpr uint64_t kEven = 0x000F'000F'000F'000F;
  // The product has the values at bits 0, 16, 32 and 48 side by side from bit 48 on.
  constexpr uint64_t kJoin = 1ULL << 48 | 1ULL << 36 | 1ULL << 24 | 1ULL << 12;
  const uint64_t even = (bytes & kEven) * kJoin, odd = (bytes >> 8 & kEven) * kJoin;
  return static_cast<uint32_t>(even >> 48 | (odd >> 32 & 0xFFFF0000));
}

/// Two words of 4 values in 8 bits.
uint64_t words_of_8_bits(uint64_t bytes) {
  return (bytes & 0xFF0000FF'FF0000FF) | (bytes >> 8 & 0x0000FF00'0000FF00) |
         (bytes << 8 & 0x00FF0000'00FF0000);
}

/// Rounds to nearest even.
float rounded_to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000U);
}

}  // namespace

void GroupedMatrix::check() const {
  PREDGEN_CHECK((bits == 4 || bits == 8) && words.dim() == 3 && words.size(2) == kGroupPanel &&
                    words.size(0) == panels_of(out) && in() % kInputStep == 0 &&
                    words.is_contiguous() && words.scalar_type() == at::kInt && words.is_cpu(),
                "{}-bit weights of {} for {} outputs", bits, c10::str(words.sizes()), out);
  PREDGEN_CHECK(scales.dim() == 4 && scales.size(0) == words.size(0) && scales.size(1) > 0 &&
                    in() % scales.size(1) == 0 && is_group(group()) &&
                    (scales.size(2) == 1 || scales.size(2) == 2) && scales.size(3) == kGroupPanel &&
                    scales.is_contiguous() && scales.scalar_type() == at::kHalf,
                "scales of {} for {}-bit weights of {}", c10::str(scales.sizes()), bits,
                c10::str(words.sizes()));
  PREDGEN_CHECK(!book || (bits == 4 && !has_offsets()), "a code book for {}-bit weights{}", bits,
                has_offsets() ? " with offsets" : "");
}

RowProduct GroupedMatrix::product() const {
  return {.weight = words.const_data_ptr(),
          .scales = bits_of(scales),
          .in = in(),
          .out = out,
          .group = group(),
          .has_offsets = has_offsets(),
          .book = book ? &*book : nullptr};
}

GroupedMatrix GroupedMatrix::panels(int64_t begin, int64_t end) const {
  return {.bits = bits,
          .out = std::min(end * kGroupPanel, out) - begin * kGroupPanel,
          .words = words.narrow(0, begin, end - begin),
          .scales = scales.narrow(0, begin, end - begin),
          .book = book};
}

at::Tensor GroupedMatrix::widen() const {
  check();
  const RowProduct matrix = product();
  at::Tensor wide = at::empty({out, in()}, at::kBFloat16);
  auto* to = reinterpret_cast<uint16_t*>(wide.mutable_data_ptr<at::BFloat16>());
  const auto widen_panels = bits == 4 ? row_kernels().widen_4_bits : row_kernels().widen_8_bits;
  parallel_ranges(words.size(0), 1,
                  [&](int64_t begin, int64_t end) { widen_panels(matrix, to, begin, end); });
  return wide;
}

void GroupedMatrix::widen_row(int64_t row, float* to) const {
  PREDGEN_CHECK(row >= 0 && row < out, "row {} of {}", row, out);
  const int64_t panel = row / kGroupPanel, lane = row % kGroupPanel;
  const int64_t units = words.size(1), groups = scales.size(1), num_scales = scales.size(2);
  const auto* word_of_row = words.const_data_ptr<int32_t>() + panel * units * kGroupPanel + lane;
  const uint16_t* scale_of_row = bits_of(scales) + panel * groups * num_scales * kGroupPanel + lane;
  const int32_t mask = (1 << bits) - 1, centre = 1 << (bits - 1);
  for (int64_t g = 0; g < groups; ++g, scale_of_row += num_scales * kGroupPanel) {
    const float scale = from_half(scale_of_row[0]) * (book ? book->unit : 1.0f);
    const float offset = num_scales == 2 ? from_half(scale_of_row[kGroupPanel]) : 0.0f;
    for (int64_t u = 0; u < units / groups; ++u, word_of_row += kGroupPanel) {
      const auto word = static_cast<uint32_t>(*word_of_row);
      for (int shift = 0; shift < 16; shift += bits) {
        for (const int at : {shift, 16 + shift}) {
          const int32_t q = static_cast<int32_t>(word >> at) & mask;
          const float value = book ? book->without_unit(q) : static_cast<float>(q - centre);
          *to++ = rounded_to_bfloat16(value * scale + offset);
        }
      }
    }
  }
}

void pack_row(const uint8_t* q, int64_t in, int bits, int32_t* to) {
  static_assert(std::endian::native == std::endian::little);
  if (bits == 4) {
    for (int64_t i = 0; i < in; i += 8, to += kGroupPanel) {
      uint64_t bytes = 0;
      std::memcpy(&bytes, q + i, sizeof bytes);
      *to = static_cast<int32_t>(word_of_4_bits(bytes));
    }
    return;
  }
  for (int64_t i = 0; i < in; i += 8, to += 2 * kGroupPanel) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, q + i, sizeof bytes);
    const uint64_t words = words_of_8_bits(bytes);
    to[0] = static_cast<int32_t>(words);
    to[kGroupPanel] = static_cast<int32_t>(words >> 32);
  }
}

at::Tensor pack_words(const at::Tensor& q, int bits) {
  PREDGEN_CHECK((bits == 4 || bits == 8) && q.dim() == 2 && q.is_cpu() &&
                    q.scalar_type() == at::kByte && q.is_contiguous() &&
                    q.size(1) % kInputStep == 0,
                "{}-bit weights of {}", bits, c10::str(q.sizes()));
  const at::Tensor panels = in_panels(q);
  const int64_t in = q.size(1), units = in * bits / 32;
  at::Tensor words = at::empty({panels.size(0), units, kGroupPanel}, q.options().dtype(at::kInt));
  auto* to = words.mutable_data_ptr<int32_t>();
  const auto* from = panels.const_data_ptr<uint8_t>();
  parallel_ranges(words.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * kGroupPanel; row < end * kGroupPanel; ++row) {
      const int64_t panel = row / kGroupPanel, lane = row % kGroupPanel;
      pack_row(from + row * in, in, bits, to + panel * units * kGroupPanel + lane);
    }
  });
  return words;
}

at::Tensor pack_scales(const at::Tensor& scales, const at::Tensor& offsets) {
  const at::Tensor both = offsets.defined() ? at::stack({scales, offsets}, 2) : scales.unsqueeze(2);
  return in_panels(both.to(at::kHalf)).permute({0, 2, 3, 1}).contiguous();
}

}  // namespace predgen

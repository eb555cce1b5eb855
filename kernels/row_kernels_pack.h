// Packs rows of x for the kernels of one instruction set, and holds what these share. Included by
// row_kernels_<set>.cpp after its `Isa`; in an unnamed namespace and without the standard library,
// whose copy for another processor the linker might pick.
#pragma once

#include "kernels/row_kernels.h"

namespace predgen {
namespace {

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

inline float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}
inline uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float widen(const uint16_t* from) { return float_of(static_cast<uint32_t>(*from) << 16); }

/// Rounds to nearest even.
inline uint16_t narrow(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value != value ? 0x7FC0 : rounded);
}

/// Calls `work`, a template lambda, with a compile-time number of rows, up to
/// kRegisterRows.
template <class Work>
void with_rows(int64_t rows, const Work& work) {
  static_assert(kRegisterRows == 4);
  switch (rows) {
    case 1:
      return work.template operator()<1>();
    case 2:
      return work.template operator()<2>();
    case 3:
      return work.template operator()<3>();
    default:
      return work.template operator()<4>();
  }
}

/// Outputs from `output` on.
inline void store_line(const RowProduct& product, int64_t row, int64_t output, const float* values,
                       int64_t count) {
  const int64_t place = row * product.out + output;
  if (product.y == nullptr) {
    for (int64_t o = 0; o < count; ++o) product.wide_y[place + o] = values[o];
    return;
  }
  for (int64_t o = 0; o < count; ++o) product.y[place + o] = narrow(values[o]);
}

/// One row's values of a block in 16 bits relative to the largest. A block of tiny values becomes
/// zero, one that is not finite gives NaN.
__attribute__((always_inline)) inline void pack_block(const uint16_t* x, int64_t count, int16_t* to,
                                                      float& scale, int32_t& sum) {
  constexpr float kLargest = 32767.0f, kRounder = 12582912.0f;  // 1.5 * 2^23, whose last bit is 1
  constexpr uint16_t kSizeBits = 0x7FFF, kInfinity = 0x7F80;
  uint16_t largest_bits = 0;  // infinities and NaN compare above all others
  for (int64_t i = 0; i < count; ++i) {
    const auto size = static_cast<uint16_t>(x[i] & kSizeBits);
    largest_bits = size > largest_bits ? size : largest_bits;
  }
  const float largest = float_of(static_cast<uint32_t>(largest_bits) << 16);
  const bool is_finite = largest_bits < kInfinity;
  sum = 0;
  if (!is_finite || largest < 1e-30f) {
    scale = is_finite ? 0.0f : __builtin_nanf("");
    __builtin_memset(to, 0, static_cast<size_t>(count) * sizeof(*to));
    return;
  }
  scale = largest / kLargest;
  const float factor = kLargest / largest;
  for (int64_t i = 0; i < count; ++i) {
    const float value = float_of(static_cast<uint32_t>(x[i]) << 16);
    // Adding kRounder leaves no bits for a fraction.
    const uint32_t rounded = bits_of(value * factor + kRounder) - bits_of(kRounder);
    to[i] = static_cast<int16_t>(rounded);
    sum += to[i];
  }
}

/// kBlock: the size of every block if known; else 0.
template <int64_t kBlock = 0>
void pack_integers(const RowProduct& product, const PackedRows& to, int64_t size, int64_t begin_row,
                   int64_t end_row) {
  const int64_t block_size = kBlock > 0 ? kBlock : size;
  for (int64_t row = begin_row; row < end_row; ++row) {
    const uint16_t* x = static_cast<const uint16_t*>(product.x) + row * product.in;
    auto* values = static_cast<int16_t*>(to.values) + row * to.stride;
    for (int64_t begin = 0; begin < product.in; begin += block_size) {
      const int64_t place = begin / block_size * to.scale_stride + row;
      const int64_t count = kBlock > 0 ? kBlock : least(block_size, product.in - begin);
      pack_block(x + begin, count, values + begin, to.scales[place], to.sums[place]);
    }
    for (int64_t i = product.in; i < to.stride; ++i) values[i] = 0;
  }
  if (end_row < product.rows) return;
  for (int64_t begin = 0; begin < product.in; begin += block_size) {
    for (int64_t row = product.rows; row < to.scale_stride; ++row) {
      to.scales[begin / block_size * to.scale_stride + row] = 0.0f;
    }
  }
}

}  // namespace
}  // namespace predgen

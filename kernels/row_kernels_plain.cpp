// The few-row products for any processor, using GCC's and Clang's vector extensions.
#include <cstddef>
#include <cstdint>

namespace predgen {
namespace {

struct Isa {
  using Ints __attribute__((vector_size(16))) = int32_t;  // 32 bits, or pairs of 16
  using Words __attribute__((vector_size(16))) = uint32_t;
  using Floats __attribute__((vector_size(16))) = float;
  static constexpr int kLanes = 4;
  static constexpr int kOutputs = 2;  // for up to four rows whose sums stay in registers
  static constexpr int kGroupRegisterRows = 4, kGroupSums = 4, kGroupPanels = 1, kManyGroupRows = 4;

  static Ints zero() { return Ints{}; }
  static Ints load_ints(const void* from) {
    Ints values;
    __builtin_memcpy(&values, from, sizeof(values));
    return values;
  }
  static Ints load_bytes(const int8_t* from) {
    using Bytes __attribute__((vector_size(8))) = int8_t;
    using Shorts __attribute__((vector_size(16))) = int16_t;
    Bytes bytes;
    __builtin_memcpy(&bytes, from, sizeof(bytes));
    const Shorts shorts = __builtin_convertvector(bytes, Shorts);
    return load_ints(&shorts);
  }
  static Ints all_pairs(const int16_t* from) {
    int32_t both;
    __builtin_memcpy(&both, from, sizeof(both));
    return Ints{both, both, both, both};
  }
  /// The bits from kBits * k on of both halves of each word.
  template <int kBits>
  static Ints pairs(Ints words, int k) {
    const auto shift = static_cast<uint32_t>(kBits * k);
    return reinterpret_cast<Ints>(reinterpret_cast<Words>(words) >> shift) &
           (((1 << kBits) - 1) * 0x10001);
  }
  using Table = const uint8_t*;
  static Table load_table(const uint8_t* from) { return from; }
  /// The table's bytes for the codes in pairs<4>(words, k).
  static Ints look_up(Table table, Ints words, int k) {
    const Ints codes = pairs<4>(words, k);
    Ints found;
    for (int lane = 0; lane < kLanes; ++lane) {
      found[lane] = table[codes[lane] & 0xFFFF] | table[codes[lane] >> 16] << 16;
    }
    return found;
  }
  static Ints even(Ints pairs) { return pairs & 0xFFFF; }
  static Ints odd(Ints pairs) { return pairs >> 16 & 0xFFFF; }
  static Ints lower(Ints pairs) {
    return reinterpret_cast<Ints>(reinterpret_cast<Words>(pairs) << 16) >> 16;
  }
  static Ints multiply_add(Ints sum, Ints a, Ints b) {
    return sum + lower(a) * lower(b) + (a >> 16) * (b >> 16);
  }
  static Ints plus(Ints a, Ints b) { return a + b; }
  static Ints minus(Ints a, int32_t b) { return a - b; }
  static Floats sum(Ints a, Ints b, Ints c, Ints d) {
    const auto of = [](Ints v) { return static_cast<float>(v[0] + v[1] + v[2] + v[3]); };
    return Floats{of(a), of(b), of(c), of(d)};
  }

  static Floats all(float value) { return Floats{value, value, value, value}; }
  static Floats load_floats(const float* from) {
    Floats values;
    __builtin_memcpy(&values, from, sizeof(values));
    return values;
  }
  static void store(float* to, Floats values) { __builtin_memcpy(to, &values, sizeof(values)); }
  static Floats to_floats(Ints values) { return __builtin_convertvector(values, Floats); }
  /// Of finite values.
  static Floats load_halves(const uint16_t* from) {
    using Halves __attribute__((vector_size(8))) = uint16_t;
    Halves halves;
    __builtin_memcpy(&halves, from, sizeof(halves));
    const Words bits = __builtin_convertvector(halves, Words), size = bits & 0x7FFFU;
    const Words normal = (size << 13) + (112U << 23);
    const auto subnormal =
        reinterpret_cast<Words>(__builtin_convertvector(size, Floats) * 0x1p-24f);
    const auto is_normal = reinterpret_cast<Words>(size >= 0x400U);
    const Words value = (normal & is_normal) | (subnormal & ~is_normal);
    return reinterpret_cast<Floats>(value | (bits & 0x8000U) << 16);
  }
  static void load_pairs(const uint16_t* from, Floats& even, Floats& odd) {
    const Words both = reinterpret_cast<Words>(load_ints(from));
    even = reinterpret_cast<Floats>(both << 16);
    odd = reinterpret_cast<Floats>(both & 0xFFFF0000U);
  }
  /// Finite values to bfloat16, rounded to nearest even.
  static Ints narrow_pairs(Floats even, Floats odd) {
    const auto rounded = [](Floats values) {
      const auto bits = reinterpret_cast<Words>(values);
      return bits + (bits >> 16 & 1U) + 0x7FFFU;
    };
    return reinterpret_cast<Ints>((rounded(even) >> 16) | (rounded(odd) & 0xFFFF0000U));
  }
  static Floats multiply_add(Floats sum, Floats a, Floats b) { return sum + a * b; }
  static Floats sum(Floats a, Floats b, Floats c, Floats d) {
    const auto of = [](Floats v) { return (v[0] + v[2]) + (v[1] + v[3]); };
    return Floats{of(a), of(b), of(c), of(d)};
  }

  /// Of each of four.
  template <class Vector>
  static Floats sum(const Vector (&of)[kLanes]) {
    return sum(of[0], of[1], of[2], of[3]);
  }
  /// What is there for each of two rows, for its kOutputs outputs.
  static Floats for_outputs(const float* rows) {
    return Floats{rows[0], rows[0], rows[1], rows[1]};
  }
};

}  // namespace
}  // namespace predgen

#include "kernels/row_kernels_table.h"

namespace predgen {

const RowKernels kPlainRowKernels = kIsaRowKernels;

}  // namespace predgen

// The few-row products for AVX-512 with VNNI and BF16; compiled for them.
#if defined(__x86_64__)

#include "kernels/row_kernels_avx512.h"
//
#include "kernels/row_kernels_table.h"

namespace predgen {
namespace {

/// Pairs of bfloat16, unconverted.
struct DotBfloat16 : Bfloat16Base {
  using Vector = __m512i;
  using Sum = __m512;
  using Packed = uint16_t;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = 32;

  static Sum zero() { return _mm512_setzero_ps(); }
  static void load(const uint16_t* from, Vector (&to)[kParts]) { to[0] = Isa::load_ints(from); }
  static Vector load_x(const uint16_t* from, int) { return Isa::load_ints(from); }
  static Sum multiply_add(Sum sum, Vector a, Vector b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
  static Four sum(Sum a, Sum b, Sum c, Sum d) { return Isa::sum(a, b, c, d); }
  static Isa::Floats sum(const Sum (&sums)[Isa::kLanes]) { return Isa::sum(sums); }
};

}  // namespace

const RowKernels kAvx512Bf16RowKernels{
    .float32 = kIsaRowKernels.float32,
    .bfloat16 = {.pack = pack_as<NarrowBfloat16>, .multiply = multiply_along_inputs<DotBfloat16>},
    .int8 = kIsaRowKernels.int8,
    .groups_of_4_bits = kIsaRowKernels.groups_of_4_bits,
    .groups_of_8_bits = kIsaRowKernels.groups_of_8_bits,
    .widen_4_bits = kIsaRowKernels.widen_4_bits,
    .widen_8_bits = kIsaRowKernels.widen_8_bits,
};

}  // namespace predgen

#endif

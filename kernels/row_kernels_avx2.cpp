// The few-row products for AVX2 with FMA and F16C; compiled for them.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace predgen {
namespace {

struct Isa {
  using Ints = __m256i;  // 32 bits, or pairs of 16
  using Floats = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kOutputs = 2;  // for up to four rows whose sums stay in registers
  static constexpr int kGroupRegisterRows = 4, kGroupSums = 8, kGroupPanels = 1, kManyGroupRows = 4;

  static Ints zero() { return _mm256_setzero_si256(); }
  static Ints load_ints(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static Ints load_bytes(const int8_t* from) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Ints all_pairs(const int16_t* from) {
    int32_t both;
    __builtin_memcpy(&both, from, sizeof(both));
    return _mm256_set1_epi32(both);
  }
  /// The bits from kBits * k on of both halves of each word.
  template <int kBits>
  static Ints pairs(Ints words, int k) {
    if (kBits * k == 16 - kBits) return _mm256_srli_epi16(words, 16 - kBits);
    return _mm256_and_si256(_mm256_srli_epi32(words, kBits * k),
                            _mm256_set1_epi32(((1 << kBits) - 1) * 0x10001));
  }
  using Table = __m256i;
  static Table load_table(const uint8_t* from) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  }
  /// The table's bytes for the codes in pairs<4>(words, k).
  static Ints look_up(Table table, Ints words, int k) {
    const Ints codes = k % 2 == 0 ? words : _mm256_srli_epi16(words, 4);
    const Ints found = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, _mm256_set1_epi8(15)));
    return k < 2 ? _mm256_and_si256(found, _mm256_set1_epi16(0xFF)) : _mm256_srli_epi16(found, 8);
  }
  static Ints multiply_add(Ints sum, Ints a, Ints b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
  }
  static Ints even(Ints pairs) { return _mm256_and_si256(pairs, _mm256_set1_epi32(0xFFFF)); }
  static Ints odd(Ints pairs) { return _mm256_srli_epi32(pairs, 16); }
  static Ints plus(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
  static Ints minus(Ints a, int32_t b) { return _mm256_sub_epi32(a, _mm256_set1_epi32(b)); }
  static __m128 sum(Ints a, Ints b, Ints c, Ints d) {
    const Ints all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    return _mm_cvtepi32_ps(
        _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
  }

  static Floats all(float value) { return _mm256_set1_ps(value); }
  static Floats load_floats(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Floats values) { _mm256_storeu_ps(to, values); }
  static Floats to_floats(Ints values) { return _mm256_cvtepi32_ps(values); }
  static Floats load_halves(const uint16_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void load_pairs(const uint16_t* from, Floats& even, Floats& odd) {
    const Ints both = load_ints(from);
    const Ints upper = _mm256_set1_epi32(static_cast<int>(0xFFFF0000));
    even = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
    odd = _mm256_castsi256_ps(_mm256_and_si256(both, upper));
  }
  /// Finite values to bfloat16, rounded to nearest even.
  static Ints narrow_pairs(Floats even, Floats odd) {
    const auto rounded = [](Floats values) {
      const Ints bits = _mm256_castps_si256(values);
      const Ints last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
      return _mm256_add_epi32(bits, _mm256_add_epi32(last, _mm256_set1_epi32(0x7FFF)));
    };
    const Ints upper = _mm256_set1_epi32(static_cast<int>(0xFFFF0000));
    return _mm256_or_si256(_mm256_srli_epi32(rounded(even), 16),
                           _mm256_and_si256(rounded(odd), upper));
  }
  static Floats multiply_add(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
  static __m128 sum(Floats a, Floats b, Floats c, Floats d) {
    const Floats all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  }

  /// Of each of eight, with the bits of sum().
  static Floats sum(const Floats (&of)[kLanes]) {
    const auto quarter = [](const Floats* v) {
      return _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    };
    const Floats a = quarter(of), b = quarter(of + 4);
    return _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
  }
  static Floats sum(const Ints (&of)[kLanes]) {
    const auto quarter = [](const Ints* v) {
      return _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
    };
    const Ints a = quarter(of), b = quarter(of + 4);
    return to_floats(_mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                                      _mm256_permute2x128_si256(a, b, 0x31)));
  }
  /// What is there for each of four rows, for its kOutputs outputs.
  static Floats for_outputs(const float* rows) {
    const Ints row = _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows)), row);
  }
};

}  // namespace
}  // namespace predgen

#include "kernels/row_kernels_table.h"

namespace predgen {

const RowKernels kAvx2RowKernels = kIsaRowKernels;

}  // namespace predgen

#endif

// What the few-row products need from AVX-512: F, BW, DQ and VL, and VNNI if compiled for it.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace predgen {
namespace {

struct Isa {
  using Ints = __m512i;  // 32 bits, or pairs of 16
  using Floats = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kOutputs = 4;  // for up to four rows whose sums stay in registers
  static constexpr int kGroupRegisterRows = 8, kGroupSums = 8, kGroupPanels = 2,
                       kManyGroupRows = 16;

  static Ints zero() { return _mm512_setzero_si512(); }
  static Ints load_ints(const void* from) { return _mm512_loadu_si512(from); }
  static Ints load_bytes(const int8_t* from) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Ints all_pairs(const int16_t* from) {
    int32_t both;
    __builtin_memcpy(&both, from, sizeof(both));
    return _mm512_set1_epi32(both);
  }
  /// The bits from kBits * k on of both halves of each word.
  template <int kBits>
  static Ints pairs(Ints words, int k) {
    if (kBits * k == 16 - kBits) return _mm512_srli_epi16(words, 16 - kBits);
    return _mm512_and_si512(_mm512_srli_epi32(words, static_cast<unsigned>(kBits * k)),
                            _mm512_set1_epi32(((1 << kBits) - 1) * 0x10001));
  }
  using Table = __m512i;
  static Table load_table(const uint8_t* from) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  }
  /// The table's bytes for the codes in pairs<4>(words, k).
  static Ints look_up(Table table, Ints words, int k) {
    const Ints codes = k % 2 == 0 ? words : _mm512_srli_epi16(words, 4);
    const Ints found = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, _mm512_set1_epi8(15)));
    return k < 2 ? _mm512_and_si512(found, _mm512_set1_epi16(0xFF)) : _mm512_srli_epi16(found, 8);
  }
  static Ints multiply_add(Ints sum, Ints a, Ints b) {
#if defined(__AVX512VNNI__)
    return _mm512_dpwssd_epi32(sum, a, b);
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
#endif
  }
  static Ints even(Ints pairs) { return _mm512_and_si512(pairs, _mm512_set1_epi32(0xFFFF)); }
  static Ints odd(Ints pairs) { return _mm512_srli_epi32(pairs, 16); }
  static Ints plus(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static Ints minus(Ints a, int32_t b) { return _mm512_sub_epi32(a, _mm512_set1_epi32(b)); }
  static __m256i halves(Ints values) {
    return _mm256_add_epi32(_mm512_castsi512_si256(values), _mm512_extracti64x4_epi64(values, 1));
  }
  static __m128 sum(Ints a, Ints b, Ints c, Ints d) {
    const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(halves(a), halves(b)),
                                          _mm256_hadd_epi32(halves(c), halves(d)));
    return _mm_cvtepi32_ps(
        _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1)));
  }

  static Floats all(float value) { return _mm512_set1_ps(value); }
  static Floats load_floats(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Floats values) { _mm512_storeu_ps(to, values); }
  static Floats to_floats(Ints values) { return _mm512_cvtepi32_ps(values); }
  static Floats load_halves(const uint16_t* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void load_pairs(const uint16_t* from, Floats& even, Floats& odd) {
    const Ints both = load_ints(from);
    const Ints upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
    even = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(both, upper));
  }
  /// Finite values to bfloat16, rounded to nearest even.
  static Ints narrow_pairs(Floats even, Floats odd) {
    const auto rounded = [](Floats values) {
      const Ints bits = _mm512_castps_si512(values);
      const Ints last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
      return _mm512_add_epi32(bits, _mm512_add_epi32(last, _mm512_set1_epi32(0x7FFF)));
    };
    const Ints upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
    return _mm512_or_si512(_mm512_srli_epi32(rounded(even), 16),
                           _mm512_and_si512(rounded(odd), upper));
  }
  static Floats multiply_add(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
  static __m256 halves(Floats values) {
    return _mm256_add_ps(_mm512_castps512_ps256(values), _mm512_extractf32x8_ps(values, 1));
  }
  static __m128 sum(Floats a, Floats b, Floats c, Floats d) {
    const __m256 all =
        _mm256_hadd_ps(_mm256_hadd_ps(halves(a), halves(b)), _mm256_hadd_ps(halves(c), halves(d)));
    return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  }

  /// Of each of sixteen, with the bits of sum(): its two halves, neighbours twice, and what is
  /// left.
  static Floats sum(const Floats (&of)[kLanes]) {
    return sum_each(of, [](Floats a, Floats b) { return a + b; });
  }
  static Floats sum(const Ints (&of)[kLanes]) {
    Floats bits[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) bits[i] = _mm512_castsi512_ps(of[i]);
    return to_floats(_mm512_castps_si512(sum_each(bits, [](Floats a, Floats b) {
      return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
    })));
  }
  template <class Add>
  static Floats sum_each(const Floats (&of)[kLanes], const Add& add) {
    Floats halves[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      const Floats a = of[i / 4 * 8 + i % 4], b = of[i / 4 * 8 + i % 4 + 4];
      halves[i] = add(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
    }
    const auto neighbours = [&](Floats a, Floats b) {
      return add(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD));
    };
    const auto quarter = [&](const Floats* v) {
      return neighbours(neighbours(v[0], v[1]), neighbours(v[2], v[3]));
    };
    const Floats a = quarter(halves), b = quarter(halves + 4);
    return add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
  }
  /// What is there for each of four rows, for its kOutputs outputs.
  static Floats for_outputs(const float* rows) {
    const Ints row = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    return _mm512_permutexvar_ps(row, _mm512_castps128_ps512(_mm_loadu_ps(rows)));
  }
};

}  // namespace
}  // namespace predgen

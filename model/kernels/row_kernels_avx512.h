// What the few-row products want of AVX-512: F, BW, DQ and VL, and VNNI where it is compiled for.
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
  static constexpr int kFewOutputs = 2, kOutputs = 4;  // of one and two rows, of three and four
  static constexpr int kInt4RegisterRows = 8;

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
  static Ints four_bits(Ints words, int shift) {
    return _mm512_and_si512(_mm512_srli_epi32(words, static_cast<unsigned>(shift)),
                            _mm512_set1_epi32(0x000F000F));
  }
  static Ints multiply_add(Ints sum, Ints a, Ints b) {
#if defined(__AVX512VNNI__)
    return _mm512_dpwssd_epi32(sum, a, b);
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
#endif
  }
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
  static void load_pairs(const uint16_t* from, Floats& even, Floats& odd) {
    const Ints both = load_ints(from);
    const Ints upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
    even = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(both, upper));
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
};

}  // namespace
}  // namespace predgen

#include "kernels/quantize_rows.h"

#include <bit>
#include <cmath>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/half.h"

namespace predgen {
namespace {

constexpr int64_t kLanes = 16;  // parallel sums, which the compiler vectorises
constexpr float kLeastScale = 1e-8f, kLeastHalf = 0x1p-24f;

float widen(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// Rounds to nearest even.
uint16_t narrow(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value != value ? 0x7FC0 : rounded);
}

/// Rounds to the nearest integer, ties to even; for |value| < 2^22.
float round(float value) {
  constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23
  return (value + kRounder) - kRounder;
}

float clamp(float value, float low, float high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

struct Range {
  float low, high;
};

Range range_of(const float* w, int64_t count) {
  float low[kLanes], high[kLanes];
  for (int64_t j = 0; j < kLanes; ++j) low[j] = high[j] = w[0];
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      low[j] = w[i + j] < low[j] ? w[i + j] : low[j];
      high[j] = w[i + j] > high[j] ? w[i + j] : high[j];
    }
  }
  for (; i < count; ++i) {
    low[0] = w[i] < low[0] ? w[i] : low[0];
    high[0] = w[i] > high[0] ? w[i] : high[0];
  }
  Range range{low[0], high[0]};
  for (int64_t j = 1; j < kLanes; ++j) {
    range.low = low[j] < range.low ? low[j] : range.low;
    range.high = high[j] > range.high ? high[j] : range.high;
  }
  return range;
}

/// w ~ step(w) * scale + offset for `count` weights; adds to `error`.
template <class Step>
void add_error(const float* w, int64_t count, float scale, float offset, const Step& step,
               RowError& error) {
  float lost[kLanes] = {}, total[kLanes] = {};
  int64_t i = 0;
  const auto add = [&](int64_t place, int64_t lane) {
    const float difference = step(w[place]) * scale + offset - w[place];
    lost[lane] += difference * difference;
    total[lane] += w[place] * w[place];
  };
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) add(i + j, j);
  }
  for (; i < count; ++i) add(i, 0);
  for (int64_t j = 0; j < kLanes; ++j) {
    error.lost += static_cast<double>(lost[j]);
    error.total += static_cast<double>(total[j]);
  }
}

}  // namespace

RowError quantize_int8_row(const float* w, int64_t in, ScaleType type, int8_t* values,
                           uint16_t* scale) {
  const bool is_half = type == ScaleType::kFloat16;
  const Range range = range_of(w, in);
  const float wanted = (range.high > -range.low ? range.high : -range.low) / 127;
  const float least = is_half ? kLeastHalf : kLeastScale, kept = wanted > least ? wanted : least;
  *scale = is_half ? to_half(kept) : narrow(kept);
  const float rounded_scale = is_half ? from_half(*scale) : widen(*scale);
  const auto step = [&](float value) { return clamp(round(value / rounded_scale), -127, 127); };
  RowError error;
  add_error(w, in, rounded_scale, 0, step, error);
  if (!std::isfinite(error.lost)) return error;
  for (int64_t i = 0; i < in; ++i) values[i] = static_cast<int8_t>(step(w[i]));
  return error;
}

RowError quantize_int4_row(const float* w, int64_t in, int64_t group, Int4Centre centre, uint8_t* q,
                           uint16_t* scales) {
  RowError error;
  for (int64_t begin = 0; begin < in; begin += group, w += group) {
    const auto [low, high] = range_of(w, group);
    const bool at_zero = centre == Int4Centre::kZero;
    const float wanted = at_zero ? (high > -low ? high : -low) / 7.5f : (high - low) / 15;
    const uint16_t scale_bits = to_half(wanted > kLeastHalf ? wanted : kLeastHalf);
    const uint16_t offset_bits = to_half(at_zero ? 0 : low + 8 * wanted);
    const float scale = from_half(scale_bits), offset = from_half(offset_bits);
    const auto step = [&](float value) { return clamp(round((value - offset) / scale), -8, 7); };
    add_error(w, group, scale, offset, step, error);
    if (q == nullptr || !std::isfinite(error.lost)) continue;
    for (int64_t i = 0; i < group; ++i) {
      q[begin + i] = static_cast<uint8_t>(static_cast<int32_t>(step(w[i])) + 8);
    }
    scales[begin / group * 2] = scale_bits;
    scales[begin / group * 2 + 1] = offset_bits;
  }
  return error;
}

void sum_codes(const int8_t* codes, int64_t num_groups, int64_t group, int32_t* sums,
               int32_t* squares) {
  for (int64_t g = 0; g < num_groups; ++g) {
#if defined(__SSE2__)
    __m128i sum = _mm_setzero_si128(), square = sum;  // of 16 and of 32 bits
    for (int64_t i = 0; i < group; i += 16, codes += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
      const __m128i low = _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
      const __m128i high = _mm_srai_epi16(_mm_unpackhi_epi8(bytes, bytes), 8);
      sum = _mm_add_epi16(sum, _mm_add_epi16(low, high));
      square = _mm_add_epi32(square,
                             _mm_add_epi32(_mm_madd_epi16(low, low), _mm_madd_epi16(high, high)));
    }
    sum = _mm_madd_epi16(sum, _mm_set1_epi16(1));
    const __m128i halves =
        _mm_add_epi32(_mm_unpacklo_epi32(sum, square), _mm_unpackhi_epi32(sum, square));
    const __m128i both = _mm_add_epi32(halves, _mm_unpackhi_epi64(halves, halves));
    sums[g] = _mm_cvtsi128_si32(both);
    squares[g] = _mm_cvtsi128_si32(_mm_srli_si128(both, 4));
#else
    sums[g] = squares[g] = 0;
    for (int64_t i = 0; i < group; ++i, ++codes) {
      sums[g] += *codes;
      squares[g] += *codes * *codes;
    }
#endif
  }
}

}  // namespace predgen

// The kernels of row_product.h for CPUs with AVX-512.
#include "model/kernels/row_product.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/util/BFloat16.h>
#include <immintrin.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace predgen {
namespace {

#define PREDGEN_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define PREDGEN_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

constexpr int64_t kStep = 64;    // inputs of one turn of a loop
constexpr int64_t kBlock = 4;    // rows of 8-bit products whose sums stay in registers
constexpr int64_t kGrain = 256;  // outputs of one task
// How far ahead weights are sent for, in bytes: found by trying.
constexpr int64_t kInt8Ahead = 2048, kBfloat16Ahead = 1792;

float widen(uint16_t bits) { return c10::detail::f32_from_bits(bits); }
uint16_t narrow(float value) { return c10::detail::round_to_nearest_even(value); }

/// The sum of 16 lanes. With masks, which cost nothing: without them g++ 12 takes the result for
/// uninitialised.
__attribute__((target("avx512f,avx512dq"))) inline float sum(__m512 lanes) {
  const __m256 eight = _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xFF, lanes, 0),
                                     _mm512_maskz_extractf32x8_ps(0xFF, lanes, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/// Rows of x in 16 bits: x ~ scale (256 high + low - 2^15) with unsigned bytes high and low, as
/// VNNI wants one factor. Widening the weights instead would take longer than reading them.
struct SplitRows {
  SplitRows(const uint16_t* x, int64_t rows, int64_t in)
      : stride((in + kStep - 1) / kStep * kStep),
        high(rows * stride),
        low(rows * stride),
        scales(rows) {
    for (int64_t row = 0; row < rows; ++row) split(x + row * in, in, row);
  }

  int64_t stride;                  // `in`, rounded up to whole steps
  std::vector<uint8_t> high, low;  // [rows,stride]
  std::vector<float> scales;

 private:
  static constexpr float kHalf = 32767.0f;  // the largest |x| in 16 bits

  PREDGEN_VNNI void split(const uint16_t* x, int64_t in, int64_t row) {
    constexpr uint16_t kSizeBits = 0x7FFF, kInfinity = 0x7F80;
    uint16_t largest_bits = 0;  // infinities and NaN are above all others
    for (int64_t i = 0; i < in; ++i) {
      largest_bits = std::max<uint16_t>(largest_bits, x[i] & kSizeBits);
    }
    const float largest = widen(largest_bits);
    const bool is_finite = largest_bits < kInfinity;
    // Rows of next to nothing are zero, and rows that are not finite NaN.
    scales[row] = is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    if (!is_finite || largest < 1e-30f) return;
    scales[row] = largest / kHalf;
    const float factor = kHalf / largest;
    uint8_t* to_high = high.data() + row * stride;
    uint8_t* to_low = low.data() + row * stride;
    for (int64_t i = 0; i < in; ++i) {
      const auto value = static_cast<int32_t>(widen(x[i]) * factor + kHalf + 1.5f);
      to_high[i] = static_cast<uint8_t>(value >> 8);
      to_low[i] = static_cast<uint8_t>(value);
    }
  }
};

/// Sums of `Rows` rows for one output. Integers: their order does not matter.
template <int Rows>
class Int8Sums {
 public:
  PREDGEN_VNNI static void run(const Int8Product& product, const SplitRows& x, int64_t output,
                               int64_t first_row) {
    const int8_t* weight = product.values + output * product.in;
    const uint8_t* x_high = x.high.data() + first_row * x.stride;
    const uint8_t* x_low = x.low.data() + first_row * x.stride;
    __m512i high[Rows], low[Rows], total = _mm512_setzero_si512();
    for (int row = 0; row < Rows; ++row) high[row] = low[row] = total;
    int64_t i = 0;
#pragma GCC unroll 2
    for (; i + kStep <= product.in; i += kStep) {
      _mm_prefetch(reinterpret_cast<const char*>(weight + i) + kInt8Ahead, _MM_HINT_T0);
      add(_mm512_loadu_si512(weight + i), x_high + i, x_low + i, x.stride, high, low, total);
    }
    if (i < product.in) {
      const __mmask64 rest = ~__mmask64{0} >> (kStep - (product.in - i));
      add(_mm512_maskz_loadu_epi8(rest, weight + i), x_high + i, x_low + i, x.stride, high, low,
          total);
    }
    const float scale = widen(product.scales[output]);
    for (int row = 0; row < Rows; ++row) {
      const __m512i centred =
          _mm512_sub_epi32(high[row], _mm512_maskz_slli_epi32(0xFFFF, total, 7));
      const __m512 both =
          _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xFFFF, centred), _mm512_set1_ps(256.0f),
                          _mm512_maskz_cvtepi32_ps(0xFFFF, low[row]));
      product.y[(first_row + row) * product.out + output] =
          narrow(sum(both) * x.scales[first_row + row] * scale);
    }
  }

 private:
  PREDGEN_VNNI static void add(__m512i weights, const uint8_t* x_high, const uint8_t* x_low,
                               int64_t stride, __m512i (&high)[Rows], __m512i (&low)[Rows],
                               __m512i& total) {
    total = _mm512_dpbusd_epi32(total, _mm512_set1_epi8(1), weights);
    for (int row = 0; row < Rows; ++row) {
      high[row] =
          _mm512_dpbusd_epi32(high[row], _mm512_loadu_si512(x_high + row * stride), weights);
      low[row] = _mm512_dpbusd_epi32(low[row], _mm512_loadu_si512(x_low + row * stride), weights);
    }
  }
};

/// Sums of `Rows` rows for one output.
template <int Rows>
PREDGEN_BF16 void bfloat16_sums(const Bfloat16Product& product, int64_t output) {
  const uint16_t* weight = product.weight + output * product.in;
  __m512 low[Rows], high[Rows];
  for (int row = 0; row < Rows; ++row) low[row] = high[row] = _mm512_setzero_ps();
#pragma GCC unroll 2
  for (int64_t i = 0; i < product.in; i += kStep) {
    const char* ahead = reinterpret_cast<const char*>(weight + i) + kBfloat16Ahead;
    _mm_prefetch(ahead, _MM_HINT_T0);
    _mm_prefetch(ahead + kStep, _MM_HINT_T0);
    const auto first = reinterpret_cast<__m512bh>(_mm512_loadu_si512(weight + i));
    const auto second = reinterpret_cast<__m512bh>(_mm512_loadu_si512(weight + i + kStep / 2));
    for (int row = 0; row < Rows; ++row) {
      const uint16_t* x = product.x + row * product.in + i;
      low[row] =
          _mm512_dpbf16_ps(low[row], first, reinterpret_cast<__m512bh>(_mm512_loadu_si512(x)));
      high[row] = _mm512_dpbf16_ps(high[row], second,
                                   reinterpret_cast<__m512bh>(_mm512_loadu_si512(x + kStep / 2)));
    }
  }
  for (int row = 0; row < Rows; ++row) {
    product.y[row * product.out + output] = narrow(sum(_mm512_add_ps(low[row], high[row])));
  }
}

bool has_avx512() {
  // The environment may ask for less than the processor has.
  return at::get_cpu_capability().starts_with("AVX512") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace

bool has_int8_product_on_cpu() {
  static const bool is_able = has_avx512() && __builtin_cpu_supports("avx512vnni");
  return is_able;
}

bool has_bfloat16_product_on_cpu() {
  static const bool is_able = has_avx512() && __builtin_cpu_supports("avx512bf16");
  return is_able;
}

void run_on_cpu(const Int8Product& product) {
  const SplitRows x(product.x, product.rows, product.in);
  constexpr decltype(&Int8Sums<1>::run) kRuns[] = {&Int8Sums<1>::run, &Int8Sums<2>::run,
                                                   &Int8Sums<3>::run, &Int8Sums<kBlock>::run};
  at::parallel_for(0, product.out, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t output = begin; output < end; ++output) {
      // From the second block on the weights come from the first-level cache.
      for (int64_t row = 0; row < product.rows; row += kBlock) {
        kRuns[std::min(product.rows - row, kBlock) - 1](product, x, output, row);
      }
    }
  });
}

void run_on_cpu(const Bfloat16Product& product) {
  at::parallel_for(0, product.out, kGrain, [&](int64_t begin, int64_t end) {
    const auto sums = product.rows == 1 ? bfloat16_sums<1> : bfloat16_sums<2>;
    for (int64_t output = begin; output < end; ++output) sums(product, output);
  });
}

}  // namespace predgen

#else

namespace predgen {

bool has_int8_product_on_cpu() { return false; }
bool has_bfloat16_product_on_cpu() { return false; }
void run_on_cpu(const Int8Product&) {}
void run_on_cpu(const Bfloat16Product&) {}

}  // namespace predgen

#endif

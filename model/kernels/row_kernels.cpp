#include "model/kernels/row_kernels.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/error.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define PREDGEN_ROW_KERNELS
#include <immintrin.h>
#endif

namespace predgen {

#ifdef PREDGEN_ROW_KERNELS
namespace {

#define PREDGEN_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx512vnni")))

constexpr int64_t kStep = 64;      // inputs of one turn of the loop
constexpr float kHalf = 32767.0f;  // the largest |x| in 16 bits
constexpr int64_t kGrain = 256;    // outputs of one task

/// The sum of 16 lanes. With masks, which cost nothing: without them g++ 12 takes the result for
/// uninitialised.
PREDGEN_AVX512 inline float sum(__m512 lanes) {
  const __m256 eight = _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xFF, lanes, 0),
                                     _mm512_maskz_extractf32x8_ps(0xFF, lanes, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/// 64 bytes of weights; those `Ahead` bytes further on are sent for.
template <int64_t Ahead, typename Value>
PREDGEN_AVX512 inline __m512i load(const Value* from) {
  _mm_prefetch(reinterpret_cast<const char*>(from) + Ahead, _MM_HINT_T0);
  return _mm512_loadu_si512(from);
}

/// bfloat16 weights with `Rows` rows of x.
template <int Rows>
class WholeProduct {
 public:
  WholeProduct(const uint16_t* x, int64_t in, const uint16_t* weight)
      : x_(x), in_(in), weight_(weight) {}

  PREDGEN_AVX512 void operator()(int64_t output, float* sums) const {
    const uint16_t* weight = weight_ + output * in_;
    __m512 low[Rows], high[Rows];
    for (int row = 0; row < Rows; ++row) low[row] = high[row] = _mm512_setzero_ps();
#pragma GCC unroll 2
    for (int64_t i = 0; i < in_; i += kStep) {
      const auto first = reinterpret_cast<__m512bh>(load<kAhead>(weight + i));
      const auto second = reinterpret_cast<__m512bh>(load<kAhead>(weight + i + 32));
      for (int row = 0; row < Rows; ++row) {
        const uint16_t* x = x_ + row * in_ + i;
        low[row] =
            _mm512_dpbf16_ps(low[row], first, reinterpret_cast<__m512bh>(_mm512_loadu_si512(x)));
        high[row] = _mm512_dpbf16_ps(high[row], second,
                                     reinterpret_cast<__m512bh>(_mm512_loadu_si512(x + 32)));
      }
    }
    for (int row = 0; row < Rows; ++row) sums[row] = sum(_mm512_add_ps(low[row], high[row]));
  }

 private:
  static constexpr int64_t kAhead = 1792;  // found by trying, as the other

  const uint16_t* x_;
  int64_t in_;
  const uint16_t* weight_;
};

/// 8-bit weights with `Rows` rows of x in 16 bits: x ~ scale (256 high + low - 2^15), with two
/// unsigned bytes high and low, as the instruction (VNNI) wants one factor. Widening the weights to
/// bfloat16 instead would take longer than reading them.
template <int Rows>
class ByteProduct {
 public:
  ByteProduct(const at::BFloat16* x, int64_t in, const int8_t* weight, const at::BFloat16* scales)
      : in_(in), weight_(weight), scales_(scales), high_(Rows * in), low_(Rows * in) {
    for (int row = 0; row < Rows; ++row) split(row, x + row * in);
  }

  PREDGEN_AVX512 void operator()(int64_t output, float* sums) const {
    const int8_t* weight = weight_ + output * in_;
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i high[Rows], low[Rows], total = _mm512_setzero_si512();
    for (int row = 0; row < Rows; ++row) high[row] = low[row] = total;
#pragma GCC unroll 2
    for (int64_t i = 0; i < in_; i += kStep) {
      const __m512i values = load<kAhead>(weight + i);
      total = _mm512_dpbusd_epi32(total, ones, values);
      for (int row = 0; row < Rows; ++row) {
        const int64_t at = row * in_ + i;
        high[row] = _mm512_dpbusd_epi32(high[row], _mm512_loadu_si512(&high_[at]), values);
        low[row] = _mm512_dpbusd_epi32(low[row], _mm512_loadu_si512(&low_[at]), values);
      }
    }
    for (int row = 0; row < Rows; ++row) {
      const __m512i centred =
          _mm512_sub_epi32(high[row], _mm512_maskz_slli_epi32(0xFFFF, total, 7));
      const __m512 both =
          _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xFFFF, centred), _mm512_set1_ps(256.0f),
                          _mm512_maskz_cvtepi32_ps(0xFFFF, low[row]));
      sums[row] = sum(both) * row_scales_[row] * static_cast<float>(scales_[output]);
    }
  }

 private:
  static constexpr int64_t kAhead = 2048;

  void split(int row, const at::BFloat16* x) {
    float largest = 0.0f;
    for (int64_t i = 0; i < in_; ++i) {
      const float size = std::abs(static_cast<float>(x[i]));
      largest = size <= largest ? largest : size;  // a NaN stays, too
      if (!std::isfinite(size)) break;
    }
    // Rows of next to nothing are zero, and rows that are not finite NaN.
    const bool is_finite = std::isfinite(largest);
    row_scales_[row] = is_finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    if (!is_finite || largest < 1e-30f) return;
    row_scales_[row] = largest / kHalf;
    for (int64_t i = 0; i < in_; ++i) {
      const float scaled = static_cast<float>(x[i]) * (kHalf / largest);
      const auto value = static_cast<uint32_t>(scaled + kHalf + 1.5f);
      high_[row * in_ + i] = static_cast<uint8_t>(value >> 8);
      low_[row * in_ + i] = static_cast<uint8_t>(value);
    }
  }

  int64_t in_;
  const int8_t* weight_;
  const at::BFloat16* scales_;
  std::vector<uint8_t> high_, low_;  // [Rows,in]
  float row_scales_[Rows];
};

/// Runs a product over all outputs, [Rows,out].
template <int Rows, typename Product>
at::Tensor run(const Product& product, const at::Tensor& x, int64_t out) {
  const at::Tensor output = at::empty({Rows, out}, x.options());
  auto* y = output.mutable_data_ptr<at::BFloat16>();
  at::parallel_for(0, out, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      float sums[Rows];
      product(o, sums);
      for (int row = 0; row < Rows; ++row) y[row * out + o] = at::BFloat16(sums[row]);
    }
  });
  return output;
}

template <int Rows>
at::Tensor whole_product(const at::Tensor& x, const at::Tensor& weight) {
  return run<Rows>(WholeProduct<Rows>(static_cast<const uint16_t*>(x.const_data_ptr()), x.size(1),
                                      static_cast<const uint16_t*>(weight.const_data_ptr())),
                   x, weight.size(0));
}

template <int Rows>
at::Tensor byte_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  return run<Rows>(
      ByteProduct<Rows>(x.const_data_ptr<at::BFloat16>(), x.size(1),
                        values.const_data_ptr<int8_t>(), scales.const_data_ptr<at::BFloat16>()),
      x, values.size(0));
}

void check(const at::Tensor& x, const at::Tensor& weight, at::ScalarType type) {
  PREDGEN_CHECK(has_row_kernels(x) && weight.scalar_type() == type && weight.is_contiguous() &&
                    weight.size(1) == x.size(1),
                "{} inputs for a weight of {}", x.size(1), weight.size(1));
}

}  // namespace

bool has_row_kernels(const at::Tensor& x) {
  static const bool is_able =
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512bf16");
  return is_able && x.is_cpu() && x.scalar_type() == at::kBFloat16 && x.dim() == 2 &&
         x.size(0) >= 1 && x.size(0) <= 2 && x.size(1) % kStep == 0;
}

at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight) {
  check(x, weight, at::kBFloat16);
  const at::Tensor rows = x.contiguous();
  return rows.size(0) == 1 ? whole_product<1>(rows, weight) : whole_product<2>(rows, weight);
}

at::Tensor row_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  check(x, values, at::kChar);
  const at::Tensor rows = x.contiguous();
  return rows.size(0) == 1 ? byte_product<1>(rows, values, scales)
                           : byte_product<2>(rows, values, scales);
}

#else

bool has_row_kernels(const at::Tensor&) { return false; }
at::Tensor row_product(const at::Tensor&, const at::Tensor&) {
  throw Error(std::string("no row kernels in this build"));
}
at::Tensor row_product(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  throw Error(std::string("no row kernels in this build"));
}

#endif

}  // namespace predgen

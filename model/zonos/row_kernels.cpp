#include "model/zonos/row_kernels.h"

#include <ATen/Parallel.h>

#include <numeric>

#include "core/error.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define PREDGEN_ROW_KERNELS
#include <immintrin.h>
#endif

namespace predgen {

#ifdef PREDGEN_ROW_KERNELS
namespace {

#define PREDGEN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

constexpr int64_t kStep = 64;     // inputs of one turn of the loop
constexpr int64_t kAhead = 2048;  // bytes between a load and its prefetch: found by trying
constexpr int64_t kGrain = 256;   // outputs of one task

PREDGEN_AVX512 inline __m512bh load(const uint16_t* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}
/// With masks, which cost nothing: without them g++ 12 takes the results for uninitialised.
PREDGEN_AVX512 inline __m512 widen(const int8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm512_maskz_cvtepi32_ps(0xFFFF, _mm512_maskz_cvtepi8_epi32(0xFFFF, bytes));
}
/// 32 weights in 8 bits; every one is a bfloat16 number, so nothing is rounded.
PREDGEN_AVX512 inline __m512bh load(const int8_t* from) {
  return _mm512_cvtne2ps_pbh(widen(from + 16), widen(from));
}

/// Products of one row of weights with `Rows` rows of x.
template <int Rows, typename Weight>
PREDGEN_AVX512 inline void dot(const Weight* weight, const uint16_t* x, int64_t in, float* sums) {
  __m512 low[Rows], high[Rows];
  for (int row = 0; row < Rows; ++row) low[row] = high[row] = _mm512_setzero_ps();
  for (int64_t i = 0; i < in; i += kStep) {
    const char* ahead = reinterpret_cast<const char*>(weight + i) + kAhead;
    _mm_prefetch(ahead, _MM_HINT_T0);
    if constexpr (sizeof(Weight) == 2) _mm_prefetch(ahead + 64, _MM_HINT_T0);
    const __m512bh first = load(weight + i), second = load(weight + i + 32);
    for (int row = 0; row < Rows; ++row) {
      low[row] = _mm512_dpbf16_ps(low[row], first, load(x + row * in + i));
      high[row] = _mm512_dpbf16_ps(high[row], second, load(x + row * in + i + 32));
    }
  }
  for (int row = 0; row < Rows; ++row) {
    // Not _mm512_reduce_add_ps, which g++ 12 takes for uninitialised.
    alignas(64) float lanes[16];
    _mm512_store_ps(lanes, _mm512_add_ps(low[row], high[row]));
    sums[row] = std::accumulate(lanes, lanes + 16, 0.0f);
  }
}

template <int Rows, typename Weight>
PREDGEN_AVX512 void run(const uint16_t* x, const Weight* weight, const at::BFloat16* scales,
                        int64_t in, int64_t out, int64_t begin, int64_t end, at::BFloat16* y) {
  for (int64_t o = begin; o < end; ++o) {
    float sums[Rows];
    dot<Rows>(weight + o * in, x, in, sums);
    const float scale = scales ? static_cast<float>(scales[o]) : 1.0f;
    for (int row = 0; row < Rows; ++row) y[row * out + o] = at::BFloat16(sums[row] * scale);
  }
}

template <typename Weight>
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::BFloat16* scales) {
  const int64_t rows = x.size(0), in = x.size(1), out = weight.size(0);
  PREDGEN_CHECK(weight.size(1) == in && weight.is_contiguous(), "{} inputs for a weight of {}", in,
                weight.size(1));
  const at::Tensor input = x.contiguous(), output = at::empty({rows, out}, x.options());
  const auto* from = static_cast<const uint16_t*>(input.const_data_ptr());
  const auto* weights = static_cast<const Weight*>(weight.const_data_ptr());
  auto* to = output.mutable_data_ptr<at::BFloat16>();
  at::parallel_for(0, out, kGrain, [&](int64_t begin, int64_t end) {
    (rows == 1 ? run<1, Weight> : run<2, Weight>)(from, weights, scales, in, out, begin, end, to);
  });
  return output;
}

}  // namespace

bool has_row_kernels(const at::Tensor& x) {
  static const bool is_able = __builtin_cpu_supports("avx512bw") &&
                              __builtin_cpu_supports("avx512vl") &&
                              __builtin_cpu_supports("avx512bf16");
  return is_able && x.is_cpu() && x.scalar_type() == at::kBFloat16 && x.dim() == 2 &&
         x.size(0) >= 1 && x.size(0) <= 2 && x.size(1) % kStep == 0;
}

at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight) {
  PREDGEN_CHECK(has_row_kernels(x) && weight.scalar_type() == at::kBFloat16, "not for this");
  return product<uint16_t>(x, weight, nullptr);
}

at::Tensor row_product(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales) {
  PREDGEN_CHECK(has_row_kernels(x) && values.scalar_type() == at::kChar, "not for this");
  return product<int8_t>(x, values, scales.const_data_ptr<at::BFloat16>());
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

// Compiled without fused multiply-adds: which of them a compiler forms may differ between the
// blocks below, and with it the last bit.
#include "model/kernels/fixed_order_product.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"

namespace predgen {
namespace {

// Sum i of a result takes products i, i + 16, i + 32, ..; at the end the upper half of the
// sums is added to the lower one until one is left.
constexpr int64_t kLanes = 16;
constexpr int64_t kGrain = 256;               // outputs of one task
constexpr int64_t kCachedValues = 256 << 10;  // of x, that stay in the second-level cache

template <typename T>
struct Vector {
  using Type __attribute__((vector_size(kLanes * sizeof(T)))) = T;
};
using Lanes = Vector<float>::Type;

template <typename T>
struct Product {
  const float* x;
  const T* weight;
  float* y;
  int64_t rows, in, out;
};

void load(const float* from, Lanes& to) { std::memcpy(&to, from, sizeof(to)); }
void load(const uint16_t* from, Lanes& to) {  // bfloat16
  Vector<uint16_t>::Type halves;
  std::memcpy(&halves, from, sizeof(halves));
  const auto words = __builtin_convertvector(halves, Vector<uint32_t>::Type) << 16;
  std::memcpy(&to, &words, sizeof(to));
}

float sum(const Lanes& lanes) {
  const auto eight = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

/// The sums of some rows and outputs, which stay in registers.
template <int kRows, int kOutputs, typename T>
struct Block {
  Lanes sums[kRows][kOutputs] = {};

  void add(const float* x, int64_t x_stride, const T* weight, int64_t weight_stride) {
    Lanes weights[kOutputs];
    for (int output = 0; output < kOutputs; ++output) {
      load(weight + output * weight_stride, weights[output]);
    }
    for (int row = 0; row < kRows; ++row) {
      Lanes values;
      load(x + row * x_stride, values);
      for (int output = 0; output < kOutputs; ++output) {
        sums[row][output] += values * weights[output];
      }
    }
  }
};

template <int kRows, int kOutputs, typename T>
void multiply_block(const Product<T>& product, int64_t row, int64_t output) {
  const int64_t in = product.in;
  const float* x = product.x + row * in;
  const T* weight = product.weight + output * in;
  Block<kRows, kOutputs, T> block;
  int64_t i = 0;
  for (; i + kLanes <= in; i += kLanes) block.add(x + i, in, weight + i, in);
  if (const int64_t rest = in - i; rest > 0) {
    float last_x[kRows][kLanes] = {};
    T last_weight[kOutputs][kLanes] = {};
    for (int r = 0; r < kRows; ++r) std::copy_n(x + r * in + i, rest, last_x[r]);
    for (int o = 0; o < kOutputs; ++o) std::copy_n(weight + o * in + i, rest, last_weight[o]);
    block.add(last_x[0], kLanes, last_weight[0], kLanes);
  }
  for (int r = 0; r < kRows; ++r) {
    float* y = product.y + (row + r) * product.out + output;
    for (int o = 0; o < kOutputs; ++o) y[o] = sum(block.sums[r][o]);
  }
}

template <int kRows, int kOutputs, typename T>
void multiply_rows(const Product<T>& product, int64_t row, int64_t end, int64_t output) {
  for (; row + kRows <= end; row += kRows) multiply_block<kRows, kOutputs>(product, row, output);
  for (; row < end; ++row) multiply_block<1, kOutputs>(product, row, output);
}

/// Outputs [begin, end) of all rows.
template <int kRows, int kOutputs, typename T>
void multiply(const Product<T>& product, int64_t begin, int64_t end) {
  const int64_t step = std::max<int64_t>(kCachedValues / product.in / kRows, 1) * kRows;
  for (int64_t row = 0; row < product.rows; row += step) {
    const int64_t row_end = std::min(row + step, product.rows);
    int64_t output = begin;
    for (; output + kOutputs <= end; output += kOutputs) {
      multiply_rows<kRows, kOutputs>(product, row, row_end, output);
    }
    for (; output < end; ++output) multiply_rows<kRows, 1>(product, row, row_end, output);
  }
}

// Blocks as large as the registers of each kind of processor.
template <typename T>
__attribute__((flatten)) void multiply_anywhere(const Product<T>& product, int64_t begin,
                                                int64_t end) {
  multiply<1, 2>(product, begin, end);
}
#if defined(__x86_64__)
template <typename T>
__attribute__((flatten, target("avx2"))) void multiply_avx2(const Product<T>& product,
                                                            int64_t begin, int64_t end) {
  multiply<2, 2>(product, begin, end);
}
template <typename T>
__attribute__((flatten, target("avx512f,avx512bw,avx512dq,avx512vl"))) void multiply_avx512(
    const Product<T>& product, int64_t begin, int64_t end) {
  multiply<4, 4>(product, begin, end);
}
#endif

template <typename T>
void run(const Product<T>& product) {
  auto multiply_on_this = multiply_anywhere<T>;
#if defined(__x86_64__)
  // The environment may ask for less than the processor has.
  const std::string able = at::get_cpu_capability();
  if (able == "AVX2" || able.starts_with("AVX512")) multiply_on_this = multiply_avx2<T>;
  if (able.starts_with("AVX512")) multiply_on_this = multiply_avx512<T>;
#endif
  at::parallel_for(0, product.out, kGrain,
                   [&](int64_t begin, int64_t end) { multiply_on_this(product, begin, end); });
}

}  // namespace

at::Tensor fixed_order_product(const at::Tensor& x, const at::Tensor& weight) {
  PREDGEN_CHECK(weight.dim() == 2 && weight.size(1) == x.size(-1) && weight.is_contiguous(),
                "{} inputs for a weight of {}", x.size(-1), c10::str(weight.sizes()));
  if (!x.is_cpu()) {
    return in_row_tiles(
        x, kTileRows, [&](const at::Tensor& rows) { return at::mm(rows, weight.t(), at::kFloat); });
  }
  const at::Tensor rows = x.to(at::kFloat).reshape({-1, x.size(-1)}).contiguous();
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  at::Tensor y = at::empty(sizes, rows.options());
  const auto run_with = [&](const auto* values) {
    run(Product<std::remove_cvref_t<decltype(*values)>>{
        .x = rows.const_data_ptr<float>(),
        .weight = values,
        .y = y.mutable_data_ptr<float>(),
        .rows = rows.size(0),
        .in = weight.size(1),
        .out = weight.size(0),
    });
  };
  switch (weight.scalar_type()) {
    case at::kFloat:
      run_with(weight.const_data_ptr<float>());
      break;
    case at::kBFloat16:
      run_with(reinterpret_cast<const uint16_t*>(weight.const_data_ptr<at::BFloat16>()));
      break;
    default:
      throw Error("a product with a weight of {}", at::toString(weight.scalar_type()));
  }
  return y;
}

}  // namespace predgen

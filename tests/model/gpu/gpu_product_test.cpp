// Products with weights in bfloat16, and of more rows than a block takes, the kernels run thread by
// thread on the CPU. tests/cuda has them on a GPU.
#include "model/gpu/gpu_product.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/model/gpu/coded_gpu_matrix.h"
#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

struct WideKind {
  int64_t out, in;
};
// Panels, steps and chunks that are not full, fewer chunks than warps and more.
constexpr WideKind kWideKinds[] = {{16, 64}, {33, 40}, {144, 200}, {24, 1096}};

at::Tensor wide_product(const WideKind& kind, const at::Tensor& x, ThreadOrder order,
                        const at::Tensor& bias = {}, at::ScalarType type = at::kBFloat16,
                        int splits = 0) {
  const at::Tensor counters = counters_for(kind.out, at::kCPU);
  const at::Tensor weight = normal({kind.out, kind.in}, 1).to(at::kBFloat16);
  const at::Tensor y =
      multiply_bfloat16(emulated_kernels(order), weight, counters, x, bias, type, splits);
  EXPECT_TRUE(counters.eq(0).all().item<bool>());
  return y;
}

at::Tensor wide_rows(int64_t rows, const WideKind& kind) {
  return normal({rows, kind.in}, 3).to(at::kBFloat16);
}

TEST(GpuProduct, OfBfloat16IsExactButForRoundings) {
  for (const WideKind& kind : kWideKinds) {
    const at::Tensor weight = normal({kind.out, kind.in}, 1).to(at::kBFloat16);
    const at::Tensor bias = normal({kind.out}, 4).to(at::kBFloat16);
    for (const int64_t rows : {1, 7, 9, 30}) {
      SCOPED_TRACE(fmt::format("{} rows, {} x {}", rows, kind.out, kind.in));
      const at::Tensor x = wide_rows(rows, kind);
      const at::Tensor exact =
          at::linear(x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble));
      const at::Tensor y = wide_product(kind, x, ThreadOrder::kAscending, bias, at::kFloat);
      EXPECT_LT(relative(y.to(at::kDouble), exact), 1e-6);
      EXPECT_TRUE(y.to(at::kBFloat16).equal(wide_product(kind, x, ThreadOrder::kDescending, bias)));
    }
  }
}

/// Eight rows at a time, up to 72, and 72 beside others of them, however many blocks share inputs.
TEST(GpuProduct, AllKernelsForBfloat16GiveTheSameBits) {
  for (const WideKind& kind : kWideKinds) {
    const at::Tensor x = wide_rows(150, kind);
    std::vector<at::Tensor> eights;
    for (const at::Tensor& eight : x.split(8)) {
      eights.push_back(wide_product(kind, eight, ThreadOrder::kAscending, {}, at::kFloat));
    }
    const at::Tensor expected = at::cat(eights);
    for (const int64_t rows : {1, 3, 9, 20, 40, 80, 150}) {
      for (const int splits : {1, 4, 8}) {
        if (rows <= 8 && splits > 1) continue;
        SCOPED_TRACE(fmt::format("{} rows, {} x {}, {} splits", rows, kind.out, kind.in, splits));
        EXPECT_TRUE(wide_product(kind, x.narrow(0, 0, rows), ThreadOrder::kDescending, {},
                                 at::kFloat, splits)
                        .equal(expected.narrow(0, 0, rows)));
      }
    }
  }
}

TEST(GpuProduct, OfFewBitsAndManyRowsHasTheBitsOfFewRows) {
  for (const CodedGpuMatrix& coded :
       {CodedGpuMatrix(4, 144, 128, 32, true), CodedGpuMatrix(8, 33, 304, 304, false)}) {
    const GpuMatrix matrix = coded.on(at::kCPU);
    const GpuKernels& kernels = emulated_kernels(ThreadOrder::kAscending);
    const at::Tensor x = normal({150, matrix.in}, 3).to(at::kBFloat16);
    const int64_t before = num_emulated_launches();
    const at::Tensor y = multiply(kernels, matrix, x, {});
    EXPECT_EQ(num_emulated_launches() - before, 3);
    for (const int64_t row : {0, 71, 72, 144, 149}) {
      EXPECT_TRUE(multiply(kernels, matrix, x.narrow(0, row, 1), {}).equal(y.narrow(0, row, 1)));
    }
  }
}

TEST(GpuProduct, RefusesWhatItCannotRead) {
  const at::Tensor weight = normal({16, 72}, 1).to(at::kBFloat16), x = normal({2, 72}, 2);
  EXPECT_FALSE(can_multiply_bfloat16(weight, x));  // float32
  const at::Tensor half = x.to(at::kBFloat16);
  EXPECT_TRUE(can_multiply_bfloat16(weight, half));
  EXPECT_FALSE(can_multiply_bfloat16(weight.narrow(1, 0, 64), half));  // rows apart
  EXPECT_FALSE(can_multiply_bfloat16(normal({16, 68}, 1).to(at::kBFloat16), half));
  EXPECT_FALSE(can_multiply_bfloat16(
      normal({16 * 72 + 1}, 1).to(at::kBFloat16).narrow(0, 1, 16 * 72).view({16, 72}), half));
  const GpuKernels& kernels = emulated_kernels(ThreadOrder::kAscending);
  EXPECT_ANY_THROW(
      multiply_bfloat16(kernels, weight, counters_for(16, at::kCPU), half.narrow(1, 0, 64), {}));
}

}  // namespace
}  // namespace predgen

#include "model/kernels/row_kernels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fakes/tensors.h"
#include "voice/zonos/zonos_matrix.h"

namespace predgen {
namespace {

at::Tensor random(at::IntArrayRef sizes, uint64_t seed) {
  return normal(sizes, seed).to(at::kBFloat16);
}

TEST(RowKernels, MultiplyLikeTheWholeMatrix) {
  if (!has_row_kernels(random({2, 64}, 1))) GTEST_SKIP() << "a processor without AVX-512 bfloat16";
  for (const auto& [out, in] : {std::pair{1, 64}, {300, 192}, {1025, 2048}}) {
    const at::Tensor weight = random({out, in}, 1);
    for (const int64_t rows : {1, 2}) {
      const at::Tensor x = random({rows, in}, 2);
      const at::Tensor exact = at::linear(x.to(at::kFloat), weight.to(at::kFloat));
      const at::Tensor found = row_product(x, weight);
      EXPECT_EQ(found.sizes(), exact.sizes());
      EXPECT_LT(relative(found, exact), 0.004) << rows << " x " << in << " x " << out;
      const QuantizedWeight quantized(weight, Quantization::kInt8, at::kCPU, "w");
      const at::Tensor back =
          quantized.values().to(at::kFloat) * quantized.scales().to(at::kFloat).unsqueeze(1);
      EXPECT_LT(relative(row_product(x, quantized.values(), quantized.scales()),
                         at::linear(x.to(at::kFloat), back)),
                0.004);
    }
  }
}

TEST(RowKernels, OfBytesKeepZerosOutliersAndNaN) {
  if (!has_row_kernels(random({2, 64}, 1))) GTEST_SKIP() << "a processor without AVX-512 bfloat16";
  const QuantizedWeight weight(random({40, 128}, 1), Quantization::kInt8, at::kCPU, "w");
  const auto product = [&](const at::Tensor& x) {
    return row_product(x, weight.values(), weight.scales());
  };
  at::Tensor x = random({2, 128}, 2);
  const at::Tensor usual = product(x);
  x.select(0, 1).zero_();
  EXPECT_TRUE(at::equal(product(x)[0], usual[0]));
  EXPECT_EQ(product(x)[1].abs().max().item<float>(), 0.0f);
  // An entry 1,000 times the others takes ten of the sixteen bits.
  x[1][5] = 1000.0;
  x[1].narrow(0, 64, 64).copy_(random({64}, 3));
  const at::Tensor exact =
      at::linear(x.to(at::kFloat),
                 weight.values().to(at::kFloat) * weight.scales().to(at::kFloat).unsqueeze(1));
  EXPECT_LT(relative(product(x)[1], exact[1]), 0.004);
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    x[1][7] = bad;
    EXPECT_TRUE(at::equal(product(x)[0], usual[0]));
    EXPECT_TRUE(product(x)[1].isnan().all().item<bool>()) << bad;
  }
}

TEST(RowKernels, OtherInputsTakeTheGeneralWay) {
  EXPECT_FALSE(has_row_kernels(random({3, 64}, 1)));
  EXPECT_FALSE(has_row_kernels(random({2, 48}, 1)));
  EXPECT_FALSE(has_row_kernels(random({2, 64}, 1).to(at::kFloat)));
  const at::Tensor weight = random({24, 48}, 1), x = random({2, 3, 48}, 2);
  const ZonosMatrix whole(weight, Quantization::kNone, at::kCPU, "w");
  EXPECT_TRUE(at::equal(whole(x), at::linear(x, weight)));
  const ZonosMatrix quantized(weight, Quantization::kInt8, at::kCPU, "w");
  EXPECT_EQ(quantized(x).sizes(), (at::IntArrayRef{2, 3, 24}));
  EXPECT_LT(relative(quantized(x), whole(x)), 0.02);
}

TEST(RowKernels, AMatrixGivesTheSameByEitherWay) {
  const at::Tensor weight = random({100, 128}, 1), x = random({2, 1, 128}, 2);
  for (const Quantization kind : {Quantization::kNone, Quantization::kInt8}) {
    const ZonosMatrix matrix(weight, kind, at::kCPU, "w");
    const at::Tensor two = matrix(x), four = matrix(at::cat({x, x}));
    EXPECT_EQ(two.sizes(), (at::IntArrayRef{2, 1, 100}));
    EXPECT_LT(relative(two, four.narrow(0, 0, 2)), 0.01);
  }
}

}  // namespace
}  // namespace predgen

#include "voice/zonos/zonos_matrix.h"

#include <gtest/gtest.h>

#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

at::Tensor random(at::IntArrayRef sizes, uint64_t seed) {
  return normal(sizes, seed).to(at::kBFloat16);
}

TEST(ZonosMatrix, AnyInputsTakeSomeWay) {
  const at::Tensor weight = random({24, 48}, 1), x = random({2, 3, 48}, 2);
  const ZonosMatrix whole(weight, Quantization::kNone, at::kCPU, "w");
  EXPECT_TRUE(at::equal(whole(x), at::linear(x, weight)));
  const ZonosMatrix quantized(weight, Quantization::kInt8, at::kCPU, "w");
  EXPECT_EQ(quantized(x).sizes(), (at::IntArrayRef{2, 3, 24}));
  EXPECT_LT(relative(quantized(x), whole(x)), 0.02);
}

TEST(ZonosMatrix, FewRowsAndManyGiveTheSame) {
  const at::Tensor weight = random({100, 128}, 1), x = random({2, 1, 128}, 2);
  for (const Quantization kind : {Quantization::kNone, Quantization::kInt8}) {
    const ZonosMatrix matrix(weight, kind, at::kCPU, "w");
    const at::Tensor two = matrix(x), many = matrix(x.repeat({12, 1, 1}));
    EXPECT_EQ(two.sizes(), (at::IntArrayRef{2, 1, 100}));
    EXPECT_LT(relative(two, many.narrow(0, 0, 2)), 0.01);
  }
}

}  // namespace
}  // namespace predgen

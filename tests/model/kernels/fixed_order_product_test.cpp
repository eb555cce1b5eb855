#include "model/kernels/fixed_order_product.h"

#include <gtest/gtest.h>

#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

class FixedOrderProducts : public testing::TestWithParam<at::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(, FixedOrderProducts, testing::Values(at::kFloat, at::kBFloat16));

/// Blocks and what is left of them: rows, outputs and inputs.
TEST_P(FixedOrderProducts, EqualLibTorchsAndDoNotDependOnOtherRows) {
  for (const auto& [out, in] : {std::pair{1, 1}, {7, 15}, {6, 16}, {523, 70}, {64, 896}}) {
    const at::Tensor weight = normal({out, in}, 1).to(GetParam());
    const at::Tensor x = normal({37, in}, 2);
    const at::Tensor y = fixed_order_product(x, weight);
    const at::Tensor expected = at::linear(x.to(at::kDouble), weight.to(at::kDouble));
    ASSERT_EQ(y.scalar_type(), at::kFloat);
    ASSERT_LT(relative(y, expected), 1e-6) << out << " x " << in;
    for (const int64_t rows : {1, 2, 5, 17, 33}) {
      for (const int64_t first : {0, 3}) {
        ASSERT_TRUE(at::equal(fixed_order_product(x.narrow(0, first, rows), weight),
                              y.narrow(0, first, rows)))
            << rows << " rows of " << out << " x " << in;
      }
    }
  }
}

TEST(FixedOrderProduct, KeepsTheShapeOfWhatStandsBeforeTheInputs) {
  const at::Tensor x = normal({2, 3, 8}, 1).to(at::kBFloat16).transpose(0, 1);
  const at::Tensor weight = normal({5, 8}, 2);
  const at::Tensor y = fixed_order_product(x, weight);
  EXPECT_EQ(y.sizes(), (at::IntArrayRef{3, 2, 5}));
  EXPECT_LT(relative(y, at::linear(x.to(at::kFloat), weight)), 1e-6);
}

TEST(RowTiles, EveryCallHasTheSameShape) {
  const at::Tensor x = normal({1, 7, 3}, 1);
  int calls = 0;
  const at::Tensor y = in_row_tiles(x, 4, [&](const at::Tensor& rows) {
    EXPECT_EQ(rows.sizes(), (at::IntArrayRef{4, 3}));
    ++calls;
    return rows.narrow(1, 0, 2) * 2;
  });
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(at::equal(y, x.narrow(2, 0, 2) * 2));
}

}  // namespace
}  // namespace predgen

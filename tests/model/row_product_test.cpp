#include "model/row_product.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

at::Tensor random(at::IntArrayRef sizes, uint64_t seed) {
  return normal(sizes, seed).to(at::kBFloat16);
}

/// W ~ values * scales, full of whole numbers.
struct Int8Weight {
  Int8Weight(int64_t out, int64_t in, uint64_t seed)
      : values((normal({out, in}, seed) * 50).clamp(-127, 127).to(at::kChar)),
        scales((normal({out}, seed + 1).abs() * 0.01).to(at::kBFloat16)) {}
  at::Tensor exact(const at::Tensor& x) const {
    const at::Tensor wide = values.to(at::kDouble) * scales.to(at::kDouble).unsqueeze(1);
    return at::linear(x.to(at::kDouble), wide);
  }
  at::Tensor operator()(const at::Tensor& x) const { return int8_product(x, values, scales); }

  at::Tensor values, scales;
};

/// Beside the rounding to bfloat16: how far in units of the
/// largest result.
double error(const at::Tensor& found, const at::Tensor& exact) {
  return ((found.to(at::kDouble) - exact).abs() - exact.abs() / 256).max().item<double>() /
         exact.abs().max().item<double>();
}

TEST(Int8Product, IsExactButForTheRoundingOfInputs) {
  for (const auto& [out, in] : {std::pair{1, 16}, {300, 192}, {5, 208}, {1025, 2048}, {70, 4864}}) {
    const Int8Weight weight(out, in, 1);
    for (const int64_t rows : {1, 2, 3, 4, 5, 16, 61}) {
      const at::Tensor x = random({rows, in}, 2), found = weight(x);
      ASSERT_TRUE(has_int8_product(x));
      EXPECT_EQ(found.sizes(), (at::IntArrayRef{rows, out}));
      EXPECT_EQ(found.scalar_type(), at::kBFloat16);
      EXPECT_LT(error(found, weight.exact(x)), 1e-4) << rows << " x " << in << " x " << out;
    }
  }
}

TEST(Int8Product, ARowDoesNotDependOnTheOthers) {
  const Int8Weight weight(130, 944, 1);
  const at::Tensor x = random({16, 944}, 2), all = weight(x);
  for (const int64_t rows : {1, 2, 3, 4, 7, 12}) {
    EXPECT_TRUE(at::equal(weight(x.narrow(0, 3, rows)), all.narrow(0, 3, rows))) << rows;
  }
}

TEST(Int8Product, TakesAnyAddressAndLayout) {
  const Int8Weight weight(130, 944, 1);
  const at::Tensor x = random({16, 944}, 2), all = weight(x);
  const at::Tensor shifted = at::empty({16 * 944 + 1}, at::kBFloat16).narrow(0, 1, 16 * 944);
  shifted.copy_(x.flatten());
  EXPECT_TRUE(at::equal(weight(shifted.view({16, 944})), all));
  EXPECT_TRUE(at::equal(weight(x.t().contiguous().t()), all));  // another layout
}

TEST(Int8Product, KeepsZerosOutliersAndNaN) {
  const Int8Weight weight(40, 128, 1);
  at::Tensor x = random({2, 128}, 2);
  const at::Tensor usual = weight(x);
  x.select(0, 1).zero_();
  EXPECT_TRUE(at::equal(weight(x)[0], usual[0]));
  EXPECT_EQ(weight(x)[1].abs().max().item<float>(), 0.0f);
  // An entry 1,000 times the others takes ten of the sixteen bits.
  x[1].narrow(0, 64, 64).copy_(random({64}, 3));
  x[1][5] = 1000.0;
  EXPECT_LT(relative(weight(x)[1], weight.exact(x)[1]), 0.004);
  // Where its weights are zero, what is left of the others shows.
  Int8Weight blind = weight;
  blind.values = weight.values.clone();
  blind.values.select(1, 5).zero_();
  EXPECT_LT(relative(blind(x)[1], blind.exact(x)[1]), 0.02);
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    x[1][7] = bad;
    EXPECT_TRUE(at::equal(weight(x)[0], usual[0]));
    EXPECT_FALSE(at::isfinite(weight(x)[1]).any().item<bool>()) << bad;
  }
}

TEST(Int8Product, LargeSumsOfIntegersFit) {
  const Int8Weight weight(3, 65536, 1);
  weight.values.fill_(-127);
  const at::Tensor x = at::full({1, 65536}, -3.0, at::kBFloat16);
  EXPECT_LT(error(weight(x), weight.exact(x)), 1e-4);
  EXPECT_LT(error(weight(-x), weight.exact(-x)), 1e-4);
}

TEST(Int8Product, TakesFewRowsOfBfloat16) {
  EXPECT_TRUE(has_int8_product(random({kFewRowsOnCpu, 50}, 1)));
  EXPECT_EQ(has_int8_product(random({kFewRowsOnCpu + 1, 64}, 1)),
            max_rows_on_cpu() > kFewRowsOnCpu);
  EXPECT_FALSE(has_int8_product(random({0, 64}, 1)));
  EXPECT_FALSE(has_int8_product(random({2, 64}, 1).to(at::kFloat)));
  EXPECT_FALSE(has_int8_product(random({64}, 1)));
}

TEST(Int8Product, RefusesOtherShapes) {
  const Int8Weight weight(8, 64, 1);
  const at::Tensor x = random({1, 64}, 2);
  EXPECT_ANY_THROW(int8_product(random({1, 32}, 2), weight.values, weight.scales));
  EXPECT_ANY_THROW(int8_product(x, weight.values.to(at::kFloat), weight.scales));
  EXPECT_ANY_THROW(int8_product(x, weight.values.slice(1, 0, 64, 1).t(), weight.scales));
  EXPECT_ANY_THROW(int8_product(x, weight.values, weight.scales.narrow(0, 0, 7)));
}

TEST(GroupedProduct, PacksInputsOfSixteenOutputsBesideEachOther) {
  const at::Tensor q = at::zeros({20, 16}, at::kByte);
  q[17][9] = 5;
  at::Tensor words = pack_words(q, 4);
  EXPECT_EQ(words.sizes(), (at::IntArrayRef{2, 2, 16}));
  // The odd one of the first pair of the second eight.
  EXPECT_EQ(words[1][1][1].item<int32_t>(), 5 << 16);
  EXPECT_EQ(at::count_nonzero(words).item<int64_t>(), 1);
  q[17][11] = 0x7B;
  words = pack_words(q, 8);
  EXPECT_EQ(words.sizes(), (at::IntArrayRef{2, 4, 16}));
  // The odd ones of both pairs of the third four.
  EXPECT_EQ(words[1][2][1].item<int32_t>(), 0x7B05 << 16);
  EXPECT_EQ(at::count_nonzero(words).item<int64_t>(), 1);
}

TEST(GroupedProduct, ScalesLieBeforeOffsets) {
  const at::Tensor scales = normal({20, 3}, 1), offsets = normal({20, 3}, 2);
  const at::Tensor both = pack_scales(scales, offsets);
  EXPECT_EQ(both.sizes(), (at::IntArrayRef{2, 3, 2, 16}));
  EXPECT_TRUE(at::equal(both[1][2][0][3], scales[19][2].to(at::kHalf)));
  EXPECT_TRUE(at::equal(both[1][2][1][3], offsets[19][2].to(at::kHalf)));
  EXPECT_EQ(pack_scales(scales, {}).sizes(), (at::IntArrayRef{2, 3, 1, 16}));
}

TEST(GroupedProduct, RefusesOtherShapes) {
  const auto words = [](int64_t out, int64_t in) {
    return pack_words(at::zeros({out, in}, at::kByte), 4);
  };
  const auto scales = [](int64_t out, int64_t groups) {
    return pack_scales(at::ones({out, groups}), {});
  };
  const GroupedMatrix whole{.bits = 4, .out = 16, .words = words(16, 64), .scales = scales(16, 2)};
  EXPECT_EQ(grouped_product(random({70, 64}, 1), whole).sizes(), (at::IntArrayRef{70, 16}));
  EXPECT_ANY_THROW(grouped_product(random({1, 32}, 1), whole));
  EXPECT_ANY_THROW(grouped_product(random({1, 64}, 1).to(at::kFloat), whole));
  const auto refuses = [&](GroupedMatrix matrix) {
    EXPECT_ANY_THROW(grouped_product(random({1, 64}, 1), matrix));
    EXPECT_ANY_THROW(matrix.widen());
  };
  refuses({.bits = 4, .out = 17, .words = whole.words, .scales = whole.scales});
  refuses({.bits = 4, .out = 16, .words = whole.words, .scales = scales(16, 8)});
  refuses({.bits = 4, .out = 16, .words = whole.words, .scales = scales(16, 3)});
  refuses({.bits = 4, .out = 16, .words = whole.words, .scales = scales(32, 2)});
  refuses({.bits = 4, .out = 16, .words = whole.words, .scales = whole.scales.to(at::kFloat)});
  EXPECT_ANY_THROW(pack_words(at::zeros({16, 60}, at::kByte), 4));
  EXPECT_ANY_THROW(pack_words(at::zeros({16, 64}, at::kChar), 4));
}

TEST(FewRowLinear, IsNoFurtherFromExactProductsThanLibTorchs) {
  for (const auto& [out, in] : {std::pair{1, 64}, {300, 195}, {1025, 2048}, {0, 8}}) {
    const at::Tensor weight = random({out, in}, 1), bias = random({out}, 3);
    for (const int64_t rows : {1, 2, 17, 64, 65}) {
      const at::Tensor x = random({1, rows, in}, 2), found = few_row_linear(x, weight, bias);
      ASSERT_EQ(found.sizes(), (at::IntArrayRef{1, rows, out}));
      if (out == 0) continue;
      const at::Tensor exact =
          at::linear(x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble));
      EXPECT_LT(relative(found, exact), relative(at::linear(x, weight, bias), exact) * 1.02)
          << rows << " x " << in << " x " << out;
    }
  }
}

TEST(FewRowLinear, LeavesTheRestToLibTorch) {
  const at::Tensor weight = random({20, 64}, 1), none;
  at::Tensor x = random({2, 64}, 2);
  const auto agrees = [&](const at::Tensor& input, const at::Tensor& matrix) {
    return relative(few_row_linear(input, matrix, none), at::linear(input, matrix)) < 0.01;
  };
  EXPECT_TRUE(agrees(x.to(at::kFloat), weight.to(at::kFloat)));
  EXPECT_TRUE(agrees(x, weight.t().contiguous().t()));
  EXPECT_TRUE(agrees(x.t().contiguous().t(), weight));
  EXPECT_EQ(few_row_linear(random({0, 64}, 1), weight, none).sizes(), (at::IntArrayRef{0, 20}));
  x.requires_grad_();
  const at::Tensor y = few_row_linear(x, weight, none);
  EXPECT_TRUE(y.requires_grad());
  y.sum().backward();
  EXPECT_TRUE(x.grad().defined());
}

}  // namespace
}  // namespace predgen

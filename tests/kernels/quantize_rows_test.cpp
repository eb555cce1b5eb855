// Against the same in LibTorch's operators, bit by bit.
#include "kernels/quantize_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "kernels/half.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

at::Tensor rows_of(int64_t in) {
  at::Tensor rows = normal({7, in}, 3);
  rows[1] *= 1e-12;  // below the least scale
  rows[2] = 0;
  rows[3] += 4;  // far from zero
  rows[4].fill_(-0.75);
  rows[5] *= 1e4;
  return rows;
}

at::Tensor wide(const std::vector<uint16_t>& bits, at::ScalarType type = at::kBFloat16) {
  const auto size = static_cast<int64_t>(bits.size());
  return at::from_blob(const_cast<uint16_t*>(bits.data()), {size}, type).to(at::kFloat);
}

void expect_errors(const RowError& error, const at::Tensor& found, const at::Tensor& row) {
  const auto squares = [](const at::Tensor& values) {
    return values.to(at::kDouble).square().sum().item<double>();
  };
  EXPECT_NEAR(error.lost, squares(found - row), 1e-5 * squares(found - row) + 1e-30);
  EXPECT_NEAR(error.total, squares(row), 1e-5 * squares(row));
}

TEST(QuantizeRows, EightBits) {
  for (const int64_t in : {1, 15, 67, 256}) {
    for (const at::Tensor& row : rows_of(in).unbind()) {
      for (const ScaleType type : {ScaleType::kBfloat16, ScaleType::kFloat16}) {
        const bool is_half = type == ScaleType::kFloat16;
        const at::ScalarType scalar = is_half ? at::kHalf : at::kBFloat16;
        at::Tensor values = at::empty({in}, at::kChar);
        std::vector<uint16_t> scale(1);
        const RowError error = quantize_int8_row(row.const_data_ptr<float>(), in, type,
                                                 values.mutable_data_ptr<int8_t>(), scale.data());
        const at::Tensor wanted_scale = (row.abs().amax() / 127)
                                            .clamp_min(is_half ? std::ldexp(1.0, -24) : 1e-8)
                                            .to(scalar)
                                            .to(at::kFloat);
        const at::Tensor wanted = (row / wanted_scale).round().clamp(-127, 127);
        EXPECT_TRUE(wide(scale, scalar).equal(wanted_scale.view({1}))) << in;
        EXPECT_TRUE(values.to(at::kFloat).equal(wanted)) << in;
        expect_errors(error, wanted * wanted_scale, row);
      }
    }
  }
}

class FourBits : public testing::TestWithParam<std::tuple<int64_t, Int4Centre>> {};
INSTANTIATE_TEST_SUITE_P(QuantizeRows, FourBits,
                         testing::Combine(testing::Values(32, 64),
                                          testing::Values(Int4Centre::kRange, Int4Centre::kZero)));

TEST_P(FourBits, AreLibTorchs) {
  constexpr int64_t kIn = 192;
  const auto [group, centre] = GetParam();
  for (const at::Tensor& row : rows_of(kIn).unbind()) {
    at::Tensor q = at::empty({kIn}, at::kByte);
    std::vector<uint16_t> pairs(static_cast<size_t>(kIn / group * 2));
    const RowError error = quantize_int4_row(row.const_data_ptr<float>(), kIn, group, centre,
                                             q.mutable_data_ptr<uint8_t>(), pairs.data());
    const at::Tensor groups = row.view({-1, group});
    const at::Tensor low = groups.amin(-1, true), high = groups.amax(-1, true);
    const bool at_zero = centre == Int4Centre::kZero;
    const at::Tensor exact = at_zero ? at::maximum(high, -low) / 7.5 : (high - low) / 15;
    const auto rounded = [&](const at::Tensor& x) { return x.to(at::kHalf).to(at::kFloat); };
    const at::Tensor scale = rounded(exact.clamp_min(std::ldexp(1.0, -24)));
    const at::Tensor offset = rounded(at_zero ? at::zeros_like(low) : low + 8 * exact);
    const at::Tensor wanted = ((groups - offset) / scale).round().add(8).clamp(0, 15);
    EXPECT_TRUE(wide(pairs, at::kHalf).view({-1, 2}).equal(at::cat({scale, offset}, 1)));
    EXPECT_TRUE(q.to(at::kFloat).view_as(wanted).equal(wanted));
    expect_errors(error, ((wanted - 8) * scale + offset).flatten(), row);
  }
}

TEST(Half, IsLibTorchs) {
  std::vector<float> values{0.0f,  -0.0f,    65504,   65519.99f, 65520,    -1e30f,    1e-8f,
                            3e-8f, 5.97e-8f, 6.1e-5f, 6.097e-5f, 1.0f / 3, HUGE_VALF, -HUGE_VALF};
  const at::Tensor random = normal({20000}, 1) * (normal({20000}, 2) * 6).exp();
  values.insert(values.end(), random.const_data_ptr<float>(),
                random.const_data_ptr<float>() + random.numel());
  for (const float value : values) {
    const c10::Half half(value);
    ASSERT_EQ(to_half(value), half.x) << value;
    ASSERT_EQ(std::bit_cast<uint32_t>(from_half(half.x)),
              std::bit_cast<uint32_t>(static_cast<float>(half)))
        << value;
  }
  EXPECT_TRUE(std::isnan(from_half(to_half(std::nanf("")))));
}

TEST(QuantizeRows, ARowThatIsNotFiniteIsSeen) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<float> row(64, 0.5f);
    row[40] = bad;
    std::vector<int8_t> values(64);
    std::vector<uint8_t> q(64);
    std::vector<uint16_t> scales(4);
    EXPECT_FALSE(std::isfinite(
        quantize_int8_row(row.data(), 64, ScaleType::kBfloat16, values.data(), scales.data())
            .lost));
    for (const Int4Centre centre : {Int4Centre::kRange, Int4Centre::kZero}) {
      EXPECT_FALSE(std::isfinite(
          quantize_int4_row(row.data(), 64, 32, centre, q.data(), scales.data()).lost));
    }
  }
}

}  // namespace
}  // namespace predgen

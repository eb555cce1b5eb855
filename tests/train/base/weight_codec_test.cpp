#include "train/base/weight_codec.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace predgen::train {
namespace {

at::Tensor some_values(int64_t size) {
  return at::empty({size}, at::kFloat).normal_(0.0, 0.02, at::detail::createCPUGenerator(3));
}

/// Two pieces, encoded alone and decoded together.
at::Tensor there_and_back(const WeightCodec& codec, const at::Tensor& values_N) {
  const at::Tensor bytes_2C =
      at::stack({codec.encode(values_N.narrow(0, 0, values_N.size(0) / 2)),
                 codec.encode(values_N.narrow(0, values_N.size(0) / 2, values_N.size(0) / 2))});
  return codec.decode(bytes_2C, at::kFloat);
}

double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

TEST(WeightCodec, FullKeepsEveryBit) {
  const at::Tensor values = some_values(1000);
  EXPECT_TRUE(there_and_back(*make_codec(BaseWeights::kFull, at::kFloat), values).equal(values));
  const at::Tensor narrow = values.to(at::kBFloat16);
  EXPECT_TRUE(there_and_back(*make_codec(BaseWeights::kFull, at::kBFloat16), narrow).equal(narrow));
}

TEST(WeightCodec, Int8IsWithinHalfAUnitOfItsBlock) {
  const at::Tensor values = some_values(128 * 6);
  const auto codec = make_codec(BaseWeights::kInt8, at::kFloat);
  const at::Tensor found = there_and_back(*codec, values);
  const at::Tensor unit = values.view({-1, 128}).abs().amax(1, true) / 127;
  EXPECT_LE(((found - values).view({-1, 128}).abs() / unit).max().item<double>(), 0.5001);
  EXPECT_EQ(codec->encode(values).numel(), 6 * (128 + 4));
}

// The values that the paper's appendix E gives, to the bit.
TEST(WeightCodec, TheCodeBookOfNf4IsThePublishedOne) {
  const float published[] = {-1.0F,
                             -0.6961928009986877F,
                             -0.5250730514526367F,
                             -0.39491748809814453F,
                             -0.28444138169288635F,
                             -0.18477343022823334F,
                             -0.09105003625154495F,
                             0.0F,
                             0.07958029955625534F,
                             0.16093020141124725F,
                             0.24611230194568634F,
                             0.33791524171829224F,
                             0.44070982933044434F,
                             0.5626170039176941F,
                             0.7229568362236023F,
                             1.0F};
  const at::Tensor book = nf4_code_book();
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(book[i].item<float>(), published[i]) << i;
}

TEST(WeightCodec, Nf4TakesTheNearestValueOfTheBook) {
  const auto codec = make_codec(BaseWeights::kNf4, at::kFloat);
  const int64_t size = 4 * codec->granule();
  const at::Tensor values = some_values(size);
  const at::Tensor found = there_and_back(*codec, values);
  // Of normally distributed values, 4 bits lose 9 to 10 % (as measured by others for blocks of 64).
  EXPECT_LT(relative_error(found, values), 0.1);
  EXPECT_GT(relative_error(found, values), 0.08);
  EXPECT_LT(static_cast<double>(codec->encode(values).numel()), 0.5165 * static_cast<double>(size));
  // No other value of the book would be nearer, given the scale that is kept.
  const at::Tensor blocks = values.view({-1, 64}), got = found.view({-1, 64});
  const at::Tensor scale = got.abs().amax(1, true);
  const at::Tensor others = nf4_code_book() * scale.unsqueeze(-1);  // [B,1,16]
  const at::Tensor nearest = (blocks.unsqueeze(-1) - others).abs().amin(-1);
  const at::Tensor has_one = got.abs().amax(1) > 0;
  EXPECT_TRUE(has_one.all().item<bool>());
  EXPECT_LE(((blocks - got).abs() - nearest).max().item<double>(), 1e-3 * 0.02);
}

TEST(WeightCodec, ScalesOfNf4BesideAnOutlierAreExactToAPercent) {
  const auto codec = make_codec(BaseWeights::kNf4, at::kFloat);
  const at::Tensor values = some_values(2 * codec->granule());
  for (const double factor : {1.0, 20.0, 1000.0}) {
    const at::Tensor uneven = values.clone();
    uneven.narrow(0, 64, 64).mul_(factor);
    const at::Tensor found = there_and_back(*codec, uneven).view({-1, 64});
    // The largest magnitude of a block is a value of the book: plus or minus the scale.
    const at::Tensor scales = uneven.view({-1, 64}).abs().amax(1);
    const at::Tensor error = (found.abs().amax(1) - scales).abs() / scales;
    // By factors of exp(r / 255) for scales that span exp(r): half of that.
    const double span = std::log((scales.amax() / scales.amin()).item<double>());
    EXPECT_LT(error.max().item<double>(), 0.51 * span / 255 + 1e-4) << factor;
    EXPECT_LT(error.max().item<double>(), 0.02) << factor;
  }
}

TEST(WeightCodec, Nf4IsItsFormula) {
  const auto codec = make_codec(BaseWeights::kNf4, at::kFloat);
  const int64_t size = codec->granule();
  const at::Tensor values = some_values(size);
  const at::Tensor found = codec->decode(codec->encode(values).unsqueeze(0), at::kFloat);
  const at::Tensor book = nf4_code_book();
  const auto* value = values.const_data_ptr<float>();
  std::vector<double> logs;
  for (int64_t begin = 0; begin < size; begin += 64) {
    double largest = 0;
    for (int64_t i = begin; i < begin + 64; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(value[i])));
    }
    logs.push_back(std::log(largest));
  }
  const auto [low, high] = std::ranges::minmax(logs);
  const double unit = (high - low) / 255;
  double worst = 0;
  for (int64_t i = 0; i < size; ++i) {
    const double scale =
        std::exp(low + unit * std::round((logs[static_cast<size_t>(i / 64)] - low) / unit));
    double nearest = 2;
    for (int64_t code = 0; code < 16; ++code) {
      const double kept = book[code].item<float>();
      if (std::abs(value[i] / scale - kept) < std::abs(value[i] / scale - nearest)) nearest = kept;
    }
    // A value half-way between two of the book may go to either.
    const double error = std::abs(found[i].item<double>() - value[i]);
    worst = std::max(worst, (error - std::abs(nearest * scale - value[i])) / scale);
  }
  EXPECT_LT(worst, 1e-4);
}

TEST(WeightCodec, ZerosLeaveTheirNeighboursAsExact) {
  const auto codec = make_codec(BaseWeights::kNf4, at::kFloat);
  const at::Tensor values = some_values(2 * codec->granule()) * 0.1;
  const double alone = relative_error(there_and_back(*codec, values), values);
  const at::Tensor padded = values.clone();
  padded.narrow(0, 0, 64).zero_();
  EXPECT_NEAR(relative_error(there_and_back(*codec, padded), padded), alone, 2e-3);
}

TEST(WeightCodec, BlocksOfZerosStayZeros) {
  for (const BaseWeights kind : {BaseWeights::kInt8, BaseWeights::kNf4}) {
    const auto codec = make_codec(kind, at::kFloat);
    const at::Tensor values = at::zeros({2 * codec->granule()});
    EXPECT_TRUE(there_and_back(*codec, values).equal(values));
  }
}

}  // namespace
}  // namespace predgen::train

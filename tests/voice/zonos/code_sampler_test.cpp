#include "voice/zonos/code_sampler.h"

#include <cmath>
#include <limits>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/zonos_golden.h"

namespace predgen {
namespace {

/// All else switched off.
CodeSamplingConfig plain() {
  CodeSamplingConfig config;
  config.repetition_penalty = 1.0;
  config.min_p = 0.0;
  return config;
}

at::Tensor probabilities(const std::vector<double>& values, const CodeSamplingConfig& config) {
  return filtered_probabilities(at::tensor(values, at::kFloat).log().unsqueeze(0), config)[0];
}

void expect_near(const at::Tensor& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found[static_cast<int64_t>(i)].item<double>(), expected[i], 1e-5) << i;
  }
}

/// Logits that make `code` certain in every codebook.
at::Tensor certain(int64_t code) {
  const at::Tensor logits = at::zeros({kZonosCodebooks, kZonosLogits}, at::kFloat);
  logits.select(1, code).fill_(100);
  return logits;
}

TEST_F(ZonosGolden, RepetitionPenaltyIsThatOfTheOfficialCode) {
  const at::Tensor seen = golden("pen_hist").to(at::kLong);
  std::vector<CodeColumn> history;
  for (int64_t i = seen.size(1) - 2; i < seen.size(1); ++i) {
    CodeColumn column;
    for (int64_t k = 0; k < kZonosCodebooks; ++k) {
      column[static_cast<size_t>(k)] = seen[k][i].item<int64_t>();
    }
    history.push_back(column);
  }
  const at::Tensor found = penalize_repetition(golden("pen_in"), history, 3.0);
  EXPECT_TRUE(at::allclose(found, golden("pen_out"), 1e-6, 1e-6));
  EXPECT_FALSE(at::equal(golden("pen_in"), golden("pen_out")));
}

TEST(CodeSampler, FiltersKeepWhatTheyShould) {
  const std::vector<double> p{0.4, 0.3, 0.2, 0.1};
  CodeSamplingConfig config = plain();
  expect_near(probabilities(p, config), p);
  config.top_p = 0.6;  // what goes before 0.2 is 0.7
  expect_near(probabilities(p, config), {4.0 / 7, 3.0 / 7, 0, 0});
  config = plain();
  config.top_k = 3;
  expect_near(probabilities(p, config), {4.0 / 9, 3.0 / 9, 2.0 / 9, 0});
  expect_near(probabilities({0.4, 0.2, 0.2, 0.2}, config), {0.4, 0.2, 0.2, 0.2});  // ties stay
  config.top_k = 100;
  expect_near(probabilities(p, config), p);
  config = plain();
  config.min_p = 0.6;
  expect_near(probabilities(p, config), {4.0 / 7, 3.0 / 7, 0, 0});
  config = plain();
  config.temperature = 0.5;  // squares
  expect_near(probabilities(p, config), {16.0 / 30, 9.0 / 30, 4.0 / 30, 1.0 / 30});
  config = plain();
  config.linear = 2.0;
  expect_near(probabilities(p, config), {16.0 / 30, 9.0 / 30, 4.0 / 30, 1.0 / 30});
  config.linear = 1.0;
  config.quadratic = 1.0;  // p^(1 - log p)
  std::vector<double> expected;
  double sum = 0;
  for (const double value : p) sum += expected.emplace_back(std::pow(value, 1 - std::log(value)));
  for (double& value : expected) value /= sum;
  expect_near(probabilities(p, config), expected);
}

TEST(CodeSampler, EntropyCountsWithConfidence) {
  const std::vector<double> p{0.4, 0.3, 0.2, 0.1};
  double entropy = 0;
  for (const double value : p) entropy -= value * std::log(value);
  CodeSamplingConfig config = plain(), same = plain();
  config.linear = 0.5;
  config.confidence = 0.4;
  same.temperature = 1 / (0.5 + 0.4 * entropy);
  EXPECT_TRUE(at::allclose(probabilities(p, config), probabilities(p, same), 1e-5, 1e-6));
}

TEST(CodeSampler, EndsOnlyWhereItMay) {
  CodeSamplingConfig config = plain();
  for (const double temperature : {0.0, 1.0}) {
    config.temperature = temperature;
    CodeSampler sampler(config);
    CodeGrid grid({}, 20);
    const CodeColumn first = sampler.sample(certain(kZonosEos), grid);
    for (const int64_t code : first) EXPECT_NE(code, kZonosEos);
    grid.append(first);
    const CodeColumn second = sampler.sample(certain(kZonosEos), grid);
    EXPECT_EQ(second[0], kZonosEos);
    for (size_t k = 1; k < second.size(); ++k) EXPECT_NE(second[k], kZonosEos) << k;
    grid.append(second);
    for (const int64_t code : sampler.sample(certain(kZonosEos), grid)) EXPECT_NE(code, kZonosEos);
  }
}

TEST(CodeSampler, EosPenaltyMovesTheEnd) {
  CodeSamplingConfig config = plain();
  config.temperature = 0;
  CodeGrid grid({}, 20);
  grid.append(CodeColumn{});
  const at::Tensor logits = certain(7);
  logits[0][kZonosEos] = 101;
  EXPECT_EQ(CodeSampler(config).sample(logits, grid)[0], kZonosEos);
  config.eos_penalty = 1.5;
  EXPECT_EQ(CodeSampler(config).sample(logits, grid)[0], 7);
}

TEST(CodeSampler, WhatWasSaidIsLessLikely) {
  CodeSamplingConfig config = plain();
  config.temperature = 0;
  config.repetition_penalty = 3.0;
  CodeSampler sampler(config);
  const at::Tensor logits = at::zeros({kZonosCodebooks, kZonosLogits}, at::kFloat);
  logits.select(1, 5).fill_(4);
  logits.select(1, 6).fill_(2);
  CodeGrid grid({}, 20);
  EXPECT_EQ(sampler.sample(logits, grid)[0], 5) << "no penalty yet";
  grid.append(sampler.sample(logits, grid));
  const CodeColumn next = sampler.sample(logits, grid);
  EXPECT_EQ(next[0], 6);
  EXPECT_EQ(next[1], 5) << "codebook 1 has said nothing yet";
  config.repetition_window = 0;
  EXPECT_EQ(CodeSampler(config).sample(logits, grid)[0], 5);
}

TEST(CodeSampler, DrawsByProbabilityAndSeed) {
  CodeSamplingConfig config = plain();
  config.seed = 5;
  const at::Tensor logits =
      at::full({kZonosCodebooks, kZonosLogits}, -std::numeric_limits<float>::infinity());
  logits.select(1, 0).fill_(std::log(0.7f));
  logits.select(1, 1).fill_(std::log(0.3f));
  const CodeGrid grid({}, 5);
  CodeSampler sampler(config);
  int64_t ones = 0;
  constexpr int64_t kDraws = 400;
  for (int64_t i = 0; i < kDraws; ++i) {
    for (const int64_t code : sampler.sample(logits, grid)) {
      ASSERT_LE(code, 1);
      ones += code;
    }
  }
  EXPECT_NEAR(static_cast<double>(ones) / (kDraws * kZonosCodebooks), 0.3, 0.03);

  const at::Tensor flat = at::zeros({kZonosCodebooks, kZonosLogits}, at::kFloat);
  CodeSampler one(config), same(config);
  const CodeColumn drawn = one.sample(flat, grid);
  EXPECT_EQ(same.sample(flat, grid), drawn);
  EXPECT_EQ(same.sample(flat, grid), one.sample(flat, grid));
  config.seed = 6;
  EXPECT_NE(CodeSampler(config).sample(flat, grid), drawn);
}

TEST(CodeSampler, RefusesLogitsThatAreNoNumbers) {
  for (const double value : {std::nan(""), HUGE_VAL}) {
    at::Tensor logits = certain(5);
    logits[8][1000].fill_(value);
    CodeSampler sampler(plain());
    expect_user_error([&] { sampler.sample(logits, CodeGrid({}, 10)); },
                      {"not numbers", "model.safetensors"});
  }
}

TEST(CodeSampler, RefusesImpossibleSettings) {
  const auto refuse = [](const std::function<void(CodeSamplingConfig&)>& change,
                         const std::vector<std::string>& parts) {
    CodeSamplingConfig config;
    change(config);
    expect_user_error([&] { CodeSampler sampler(config); }, parts);
  };
  refuse([](auto& c) { c.repetition_penalty = 0; }, {"repetition penalty"});
  refuse([](auto& c) { c.repetition_window = -1; }, {"repetition window", "-1"});
  refuse([](auto& c) { c.temperature = -1; }, {"temperature", "-1"});
  refuse([](auto& c) { c.temperature = NAN; }, {"temperature"});
  refuse([](auto& c) { c.linear = -0.5; }, {"linear"});
  refuse([](auto& c) { c.confidence = 0.4; }, {"confidence", "linear"});
  refuse([](auto& c) { c.linear = 1, c.quadratic = INFINITY; }, {"quadratic"});
  refuse([](auto& c) { c.top_p = 1.5; }, {"top-p", "1.5"});
  refuse([](auto& c) { c.top_k = -3; }, {"top-k", "-3"});
  refuse([](auto& c) { c.min_p = -0.1; }, {"min-p"});
  refuse([](auto& c) { c.eos_penalty = NAN; }, {"EOS penalty"});
}

}  // namespace
}  // namespace predgen

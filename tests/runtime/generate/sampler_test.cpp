#include "runtime/generate/sampler.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

TEST(ArgmaxRows, TakesTheLowestIdAmongEquals) {
  const at::Tensor logits_NV = at::tensor({0.f, 3.f, 3.f, 1.f, 2.f, 2.f, 2.f, -1.f}).view({2, 4});
  EXPECT_EQ(argmax_rows(logits_NV), (TokenIds{1, 0}));
}

std::map<TokenId, int> draw(const SamplingConfig& config, const at::Tensor& logits_V) {
  const Sampler sampler(config);
  std::map<TokenId, int> counts;
  for (int64_t place = 0; place < 4000; ++place) ++counts[sampler.sample(logits_V, {}, -place)];
  return counts;
}

TEST(Sampler, DrawsByProbability) {
  const at::Tensor logits_V = at::tensor({0.1, 0.6, 0.3}).log();
  auto counts = draw({}, logits_V);
  EXPECT_NEAR(counts[0], 400, 80);
  EXPECT_NEAR(counts[1], 2400, 120);
  EXPECT_NEAR(counts[2], 1200, 120);
  // Probabilities 0.01, 0.36, 0.09 over their sum.
  counts = draw({.temperature = 0.5}, logits_V);
  EXPECT_NEAR(counts[1], 3130, 120);
}

TEST(Sampler, TopKTopPAndMinPCutTheTail) {
  const at::Tensor logits_V = at::tensor({0.1, 0.5, 0.25, 0.15}).log();
  auto counts = draw({.top_k = 2}, logits_V);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[1], 2667, 120);
  counts = draw({.top_p = 0.7}, logits_V);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts.contains(1) && counts.contains(2));
  counts = draw({.top_p = 0.4}, logits_V);
  EXPECT_EQ(counts.size(), 1u);
  counts = draw({.min_p = 0.4}, logits_V);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[1], 2667, 120);
}

TEST(Sampler, RepetitionPenaltyActsOnWhatStoodBefore) {
  // 2 -> 1 by division, -1 -> -2 by multiplication, once however often a token stood there.
  const at::Tensor logits_V = at::tensor({2.0, -1.0, 0.5, 1.0});
  const Sampler sampler({.repetition_penalty = 2});
  std::map<TokenId, int> counts;
  for (int64_t place = 0; place < 4000; ++place) {
    ++counts[sampler.sample(logits_V, TokenIds{0, 1, 0}, -place)];
  }
  const at::Tensor expected = at::softmax(at::tensor({1.0, -2.0, 0.5, 1.0}), -1) * 4000;
  for (const TokenId id : {0, 1, 2, 3}) {
    EXPECT_NEAR(counts[id], expected[id].item<double>(), 130) << id;
  }
}

TEST(Sampler, WithoutTemperatureTheLikeliestFollows) {
  const at::Tensor logits_V = at::tensor({2.0, 1.5, 1.5, -1.0});
  for (int64_t place = 0; place < 20; ++place) {
    const Sampler plain({.temperature = 0}), penalised({.repetition_penalty = 2, .temperature = 0});
    EXPECT_EQ(plain.sample(logits_V, TokenIds{0}, -place), 0);
    EXPECT_EQ(penalised.sample(logits_V, TokenIds{0}, -place), 1);  // of equals the lowest id
    EXPECT_EQ(penalised.sample(logits_V, TokenIds{0, 1}, -place), 2);
  }
}

TEST(Sampler, SeedAnswerAndPlaceDecide) {
  const at::Tensor logits_V = at::zeros({1000});
  const auto run = [&](uint64_t seed, uint64_t answer, int64_t answer_begin) {
    const Sampler sampler({.seed = seed}, answer);
    TokenIds drawn;
    TokenIds before(static_cast<size_t>(answer_begin));
    for (int i = 0; i < 3; ++i) before.push_back(sampler.sample(logits_V, before, answer_begin));
    return TokenIds(before.begin() + answer_begin, before.end());
  };
  EXPECT_EQ(run(1, 0, 4), run(1, 0, 9));  // whatever stands before the answer
  EXPECT_NE(run(1, 0, 4), run(2, 0, 4));
  EXPECT_NE(run(1, 0, 4), run(1, 1, 4));
  const TokenIds drawn = run(1, 0, 4);
  EXPECT_NE(drawn[0], drawn[1]);
}

TEST(Sampler, RejectsImpossibleOptions) {
  expect_user_error([] { Sampler({.temperature = -1}); }, {"temperature"});
  expect_user_error([] { Sampler({.repetition_penalty = 0}); }, {"repetition penalty"});
  expect_user_error([] { Sampler({.top_k = -1}); }, {"top-k"});
  expect_user_error([] { Sampler({.top_p = 1.5}); }, {"top-p"});
  expect_user_error([] { Sampler({.min_p = -1}); }, {"min-p"});
}

}  // namespace
}  // namespace predgen

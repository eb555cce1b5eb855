#include "runtime/generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/tensors.h"

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

TEST(Sampler, PenaltiesCountWhatTheAnswerHas) {
  const at::Tensor logits_V = at::tensor({2.0, 1.5, 1.0, 0.0});
  const auto likeliest = [&](SamplingConfig config, const TokenIds& before, int64_t answer_begin) {
    config.temperature = 0;
    return Sampler(config).sample(logits_V, before, answer_begin);
  };
  // The prompt does not count.
  EXPECT_EQ(likeliest({.frequency_penalty = 2}, {0, 0}, 2), 0);
  EXPECT_EQ(likeliest({.frequency_penalty = 0.4}, {0}, 0), 0);
  EXPECT_EQ(likeliest({.frequency_penalty = 0.4}, {0, 0}, 0), 1);
  EXPECT_EQ(likeliest({.presence_penalty = 0.4}, {0, 0}, 0), 0);
  EXPECT_EQ(likeliest({.presence_penalty = 0.6}, {0, 0}, 0), 1);
  EXPECT_EQ(likeliest({.frequency_penalty = 0.3, .presence_penalty = 0.3}, {0, 1, 1}, 0), 0);
  EXPECT_EQ(likeliest({.frequency_penalty = -2}, {3}, 0), 0);
  EXPECT_EQ(likeliest({.frequency_penalty = -2}, {3, 3}, 0), 3);
  // A window.
  EXPECT_EQ(likeliest({.presence_penalty = 2, .penalty_window = 1}, {0, 3}, 0), 0);
  EXPECT_EQ(likeliest({.presence_penalty = 2, .penalty_window = 2}, {0, 3}, 0), 1);
  EXPECT_EQ(likeliest({.repetition_penalty = 4, .penalty_window = 0}, {0}, 0), 0);
  EXPECT_EQ(likeliest({.repetition_penalty = 4, .penalty_window = 1}, {0}, 1), 1);
  // Biases.
  EXPECT_EQ(likeliest({.logit_bias = {{0, -100}}}, {}, 0), 1);
  EXPECT_EQ(likeliest({.logit_bias = {{3, 100}, {1, 1}}}, {}, 0), 3);
  expect_user_error([&] { likeliest({.logit_bias = {{4, 1}}}, {}, 0); }, {"no token 4"});
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

/// What Sampler draws, with a sort of the whole vocabulary.
TokenId drawn_from_all(const SamplingConfig& config, const at::Tensor& logits_V, int64_t place) {
  const auto [sorted_V, ids_V] =
      (logits_V.to(at::kDouble) / config.temperature).sort(/*stable=*/true, -1, true);
  std::vector<double> weights;
  for (int64_t i = 0; i < sorted_V.numel(); ++i) {
    weights.push_back(
        std::exp(sorted_V.const_data_ptr<double>()[i] - *sorted_V.const_data_ptr<double>()));
  }
  const auto total = [&] { return std::accumulate(weights.begin(), weights.end(), 0.0); };
  if (config.top_p < 1) {
    const double wanted = config.top_p * total();
    double sum = 0;
    size_t count = 0;
    while (count < weights.size() && sum < wanted) sum += weights[count++];
    weights.resize(std::max<size_t>(count, 1));
  }
  std::erase_if(weights, [&](double weight) { return weight < config.min_p; });
  const uint64_t seed = Random(config.seed, "sampler", 0).next();
  double left = Random(seed, "token", static_cast<uint64_t>(place)).uniform() * total();
  size_t chosen = 0;
  while (chosen + 1 < weights.size() && left >= weights[chosen]) left -= weights[chosen++];
  return ids_V.const_data_ptr<int64_t>()[chosen];
}

/// Most vocabularies are larger than what is ranked first.
TEST(Sampler, DrawsWhatASortOfAllTokensGives) {
  constexpr int64_t kVocab = 5000;
  std::vector<at::Tensor> kinds;
  for (const double spread : {0.5, 3.0, 8.0}) kinds.push_back(normal({kVocab}, 7) * spread);
  kinds.push_back((normal({kVocab}, 8) * 3).round());      // hundreds of equals
  kinds.push_back((normal({kVocab}, 9) * 3).round() * 4);  // of which few are likely
  kinds.push_back(at::zeros({kVocab}));
  kinds.push_back(at::where(normal({kVocab}, 10) > 1.9, normal({kVocab}, 11),
                            at::full({}, -std::numeric_limits<float>::infinity())));
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    for (const SamplingConfig& config :
         std::vector<SamplingConfig>{{},
                                     {.temperature = 0.3},
                                     {.top_p = 0.5},
                                     {.top_p = 0.95},
                                     {.temperature = 2.0, .top_p = 0.999},
                                     {.min_p = 0.02},
                                     {.top_p = 0.9, .min_p = 0.001}}) {
      const Sampler sampler(config);
      for (int64_t place = 0; place < 40; ++place) {
        ASSERT_EQ(sampler.sample(kinds[kind], {}, -place),
                  drawn_from_all(config, kinds[kind], place))
            << "logits " << kind << ", top-p " << config.top_p << ", place " << place;
      }
    }
  }
}

TEST(Sampler, DrawsAmongWhatIsAllowedAsIfThereWereNothingElse) {
  constexpr int64_t kVocab = 5000;
  const at::Tensor logits_V = normal({kVocab}, 7) * 3;
  for (const int64_t every : {1, 3, 40, 4999}) {  // few, and more than are ranked first
    const at::Tensor ids_N = at::arange(0, kVocab, every, at::kLong);
    at::Tensor allowed_V = at::zeros({kVocab}, at::kBool);
    allowed_V.index_fill_(0, ids_N, true);
    for (const SamplingConfig& config : std::vector<SamplingConfig>{
             {}, {.temperature = 0}, {.top_k = 7}, {.top_p = 0.5}, {.min_p = 0.02}}) {
      const Sampler sampler(config);
      for (int64_t place = 0; place < 20; ++place) {
        const TokenId drawn = sampler.sample(logits_V, {}, -place, allowed_V);
        ASSERT_EQ(drawn, every * sampler.sample(logits_V.index_select(0, ids_N), {}, -place));
      }
    }
  }
  // Penalties and biases are those of the tokens.
  const Sampler biased({.logit_bias = {{4, 100}, {9, 50}}, .temperature = 0});
  at::Tensor allowed_V = at::zeros({kVocab}, at::kBool);
  allowed_V[9] = allowed_V[11] = true;
  EXPECT_EQ(biased.sample(logits_V, {}, 0, allowed_V), 9);
  const Sampler penalized({.frequency_penalty = 2, .logit_bias = {{9, 50}}, .temperature = 0});
  EXPECT_EQ(penalized.sample(logits_V, TokenIds(40, 9), 0, allowed_V), 11);
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

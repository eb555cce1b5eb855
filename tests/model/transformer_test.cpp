#include "model/transformer.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "model/lora.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"

namespace predgen {
namespace {

constexpr double kTolerance = 1e-4;

double max_difference(const at::Tensor& left, const at::Tensor& right) {
  return (left - right).abs().max().item<double>();
}

at::Tensor random_tokens(int64_t batch_size, int64_t length, uint64_t seed) {
  Random random(seed, "tokens");
  at::Tensor tokens = at::empty({batch_size, length}, at::kLong);
  for (int64_t i = 0; i < tokens.numel(); ++i) {
    tokens.view(-1)[i] = static_cast<int64_t>(random.below(61));
  }
  return tokens;
}

at::Tensor full_pass(const Transformer& model, const at::Tensor& tokens_BT) {
  const at::NoGradGuard no_grad;
  return model.logits(model.hidden_states(tokens_BT));
}

ForwardInput input_of(const at::Tensor& tokens_BT) {
  ForwardInput input;
  input.tokens_BT = tokens_BT;
  return input;
}

/// What the families add, one by one.
std::vector<ModelConfig> family_configs() {
  std::vector<ModelConfig> configs(5, small_config());
  configs[1].windows = {7, 0};
  configs[2].windows = {1, 5};
  configs[2].qk_norm = QkNorm::kHead;
  configs[3].qk_norm = QkNorm::kWidth;
  configs[3].norm_after = configs[3].norm_scales_wide = true;
  configs[4].o_bias = configs[4].mlp_bias = true;
  configs[4].rope = {.kind = RopeKind::kLinear, .factor = 3.0};
  return configs;
}

class TransformerFamilies : public testing::TestWithParam<ModelConfig> {};
INSTANTIATE_TEST_SUITE_P(Transformer, TransformerFamilies, testing::ValuesIn(family_configs()),
                         [](const auto& test) { return fmt::format("config{}", test.index); });

TEST_P(TransformerFamilies, PiecesEqualOnePass) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  const at::Tensor tokens = random_tokens(2, 24, 1);
  const at::Tensor expected = full_pass(*model, tokens);
  for (const std::vector<int64_t>& pieces : std::vector<std::vector<int64_t>>{
           {24}, {1, 23}, {23, 1}, {7, 9, 8}, std::vector<int64_t>(24, 1)}) {
    const auto cache = model->make_cache(2, 24);
    std::vector<at::Tensor> logits;
    for (const int64_t piece : pieces) {
      logits.push_back(model->forward(input_of(tokens.narrow(1, cache->length(), piece)), *cache));
    }
    EXPECT_LE(max_difference(at::cat(logits, 1), expected), kTolerance) << pieces.size();
  }
}

/// What speculation does: append drafts, take some back, go on with other tokens.
TEST_P(TransformerFamilies, EveryTruncationEqualsOnePass) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  const auto cache = model->make_cache(1, 40);
  at::Tensor tokens = at::empty({1, 0}, at::kLong);
  Random random(7, "pattern");
  for (int step = 0; step < 60; ++step) {
    const int64_t most = std::min<int64_t>(cache->length(), 30);
    const auto kept = static_cast<int64_t>(random.below(static_cast<uint64_t>(most) + 1));
    if (cache->length() > 30 || random.below(2) == 0) cache->truncate(kept);
    const auto length = static_cast<int64_t>(1 + random.below(9));
    const at::Tensor fresh = random_tokens(1, length, 100 + static_cast<uint64_t>(step));
    tokens = at::cat({tokens.narrow(1, 0, cache->length()), fresh}, 1);
    const at::Tensor logits = model->forward(input_of(fresh), *cache);
    ASSERT_EQ(cache->length(), tokens.size(1));
    const at::Tensor expected =
        full_pass(*model, tokens).narrow(1, tokens.size(1) - length, length);
    ASSERT_LE(max_difference(logits, expected), kTolerance) << "step " << step;
  }
}

/// The comparisons above must notice a cache that is off by one, stale, or at wrong positions.
TEST(Transformer, PlantedCacheFaultsAreSeen) {
  const auto model = small_model();
  const at::Tensor tokens = random_tokens(1, 12, 3);
  const at::Tensor expected = full_pass(*model, tokens).narrow(1, 11, 1);
  const at::Tensor last = tokens.narrow(1, 11, 1);
  const auto prefilled = [&](int64_t length) {
    auto cache = model->make_cache(1, 16);
    model->forward(input_of(tokens.narrow(1, 0, length)), *cache);
    return cache;
  };
  const auto run = [&](KvCache& cache, const ForwardInput& input) {
    return max_difference(model->forward(input, cache), expected);
  };
  EXPECT_LE(run(*prefilled(11), input_of(last)), kTolerance);
  EXPECT_GT(run(*prefilled(10), input_of(last)), 100 * kTolerance) << "one position short";
  const auto doubled = prefilled(11);
  for (int64_t layer = 0; layer < 2; ++layer) {
    doubled->append(layer, at::ones({1, 2, 1, 8}), at::ones({1, 2, 1, 8}));
  }
  doubled->commit(1);
  EXPECT_GT(run(*doubled, input_of(last)), 100 * kTolerance) << "one position too many";
  ForwardInput moved = input_of(last), masked = input_of(last);
  moved.positions_BT = at::full({1, 1}, 3, at::kLong);
  EXPECT_GT(run(*prefilled(11), moved), 100 * kTolerance) << "wrong position";
  masked.attention_mask_B1TS = at::ones({1, 1, 1, 12}, at::kBool);
  masked.attention_mask_B1TS[0][0][0][0] = false;
  EXPECT_GT(run(*prefilled(11), masked), 100 * kTolerance) << "a hidden key";
}

TEST(Transformer, LaterTokensDoNotChangeEarlierLogits) {
  const auto model = small_model();
  at::Tensor tokens = random_tokens(1, 16, 4);
  const at::Tensor before = full_pass(*model, tokens);
  tokens.narrow(1, 10, 6).copy_(random_tokens(1, 6, 5));
  const at::Tensor after = full_pass(*model, tokens);
  EXPECT_LE(max_difference(before.narrow(1, 0, 10), after.narrow(1, 0, 10)), kTolerance);
  EXPECT_GT(max_difference(before.narrow(1, 10, 6), after.narrow(1, 10, 6)), 0.01);
}

TEST(Transformer, ExplicitPositionsAndMaskEqualTheDefault) {
  const auto model = small_model();
  const at::Tensor tokens = random_tokens(1, 9, 6);
  const auto first = model->make_cache(1, 9), second = model->make_cache(1, 9);
  ForwardInput input = input_of(tokens);
  input.num_logits = 4;
  const at::Tensor expected = model->forward(input, *first);
  input.positions_BT = at::arange(9, at::kLong).unsqueeze(0);
  input.attention_mask_B1TS = at::ones({1, 1, 9, 9}, at::kBool).tril();
  const at::Tensor found = model->forward(input, *second);
  EXPECT_EQ(expected.size(1), 4);
  EXPECT_EQ(expected.scalar_type(), at::kFloat);
  EXPECT_LE(max_difference(found, expected), kTolerance);
}

TEST(Transformer, AWindowHidesWhatIsBehindIt) {
  ModelConfig config = small_config();
  config.windows = {4, 4};
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  at::Tensor tokens = random_tokens(1, 16, 9);
  const at::Tensor before = full_pass(*model, tokens);
  tokens[0][2] = (tokens[0][2].item<int64_t>() + 1) % 61;
  const at::Tensor change = (full_pass(*model, tokens) - before).abs().amax(-1)[0];
  // Two layers of four positions: token 2 reaches 2 + 3 + 3, and no further.
  EXPECT_GT(change[8].item<double>(), 1e-4);
  EXPECT_EQ(change.narrow(0, 9, 7).max().item<double>(), 0.0);
}

/// Rows whose tokens stand at other positions than their places, as training packs them.
TEST_P(TransformerFamilies, APackedSegmentEqualsTheRowItStandsFor) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  const at::Tensor clean = random_tokens(1, 12, 10), noise = random_tokens(1, 5, 11);
  const at::Tensor expected = full_pass(*model, at::cat({clean.narrow(1, 0, 8), noise}, 1));
  const at::NoGradGuard no_grad;
  const at::Tensor positions = at::cat({at::arange(12), at::arange(8, 13)}).unsqueeze(0);
  const at::Tensor seen = at::ones({1, 1, 17, 17}, at::kBool).tril();
  seen.narrow(2, 12, 5).narrow(3, 8, 4).fill_(false);
  const at::Tensor packed =
      model->logits(model->hidden_states(at::cat({clean, noise}, 1), positions, seen));
  EXPECT_LE(max_difference(packed.narrow(1, 12, 5), expected.narrow(1, 8, 5)), kTolerance);
  EXPECT_LE(max_difference(packed.narrow(1, 0, 12), full_pass(*model, clean)), kTolerance);
}

TEST(Transformer, SeedDecidesTheWeights) {
  EXPECT_TRUE(at::equal(small_model(1)->named_weights()["model.embed_tokens.weight"],
                        small_model(1)->named_weights()["model.embed_tokens.weight"]));
  EXPECT_FALSE(at::equal(small_model(1)->named_weights()["model.embed_tokens.weight"],
                         small_model(2)->named_weights()["model.embed_tokens.weight"]));
}

TEST(Transformer, AFreshAdapterChangesNothingAndReceivesGradients) {
  const auto model = small_model();
  const at::Tensor tokens = random_tokens(1, 8, 8);
  const at::Tensor before = full_pass(*model, tokens);
  attach_lora(*model, {}, 3);
  EXPECT_TRUE(at::equal(full_pass(*model, tokens), before));
  model->logits(model->hidden_states(tokens)).sum().backward();
  for (const auto& [name, tensor] : named_adapter_weights(*model)) {
    ASSERT_TRUE(tensor.grad().defined()) << name;
    const bool is_b = name.find("lora_B") != std::string::npos;
    EXPECT_EQ(tensor.grad().abs().max().item<double>() > 0, is_b) << name;
  }
  LoraConfig unknown;
  unknown.target_modules = {"c_attn"};
  expect_user_error([&] { attach_lora(*model, unknown, 3); }, {"c_attn", "model.layers.0"});
}

TEST(Transformer, ShapesAreChecked) {
  expect_user_error(
      [] { Transformer model(small_config(), [](const std::string&) { return at::ones({2}); }); },
      {"model.embed_tokens.weight", "[2]", "[61, 32]"});
}

}  // namespace
}  // namespace predgen

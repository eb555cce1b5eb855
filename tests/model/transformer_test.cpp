#include "model/transformer.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "core/error.h"
#include "core/random.h"
#include "model/weights/lora.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/hybrid_models.h"
#include "tests/fakes/layer_specs.h"
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

/// Logits [T,V] of these tokens [1,T] after what the cache holds.
at::Tensor run(const Transformer& model, SequenceState& cache, const at::Tensor& tokens_1T,
               const at::Tensor& tree_TT = {}) {
  const at::Tensor tokens = tokens_1T.contiguous();
  const TokenSpan ids(tokens.const_data_ptr<int64_t>(), static_cast<size_t>(tokens.numel()));
  return model.forward(
      {.state = &cache, .tokens = ids, .num_logits = tokens.numel(), .tree_TT = tree_TT});
}

/// What the architectures add, one by one.
std::vector<ModelConfig> architecture_configs() {
  std::vector<ModelConfig> configs(12, small_config());
  const auto each = [&](size_t i, auto change) {
    for (LayerSpec& layer : configs[i].layers) change(layer);
  };
  set_windows(configs[1], {7, 0});
  set_windows(configs[2], {1, 5});
  each(2, [](LayerSpec& layer) { layer.attention.qk_norm = QkNorm::kHead; });
  each(3, [](LayerSpec& layer) {
    layer.attention.qk_norm = QkNorm::kWidth;
    layer.norm_before = false;
    layer.norm_after = true;
  });
  configs[3].norm_scales_wide = true;
  each(4, [](LayerSpec& layer) { layer.attention.o_bias = layer.feed_forward.bias = true; });
  configs[4].ropes = {{.kind = RopeKind::kLinear, .factor = 3.0}};
  make_gemma(configs[5]);
  each(6, [](LayerSpec& layer) { layer.attention.softcap = 3.0; });
  configs[6].logit_softcap = 2.0;
  configs[7] = hybrid_config();
  configs[8] = delta_config();
  configs[9] = convolution_config();
  configs[10] = experts_config();
  configs[11] = gemma4_config();
  return configs;
}

class TransformerArchitectures : public testing::TestWithParam<ModelConfig> {};
INSTANTIATE_TEST_SUITE_P(Transformer, TransformerArchitectures,
                         testing::ValuesIn(architecture_configs()),
                         [](const auto& test) { return fmt::format("config{}", test.index); });

TEST_P(TransformerArchitectures, PiecesEqualOnePass) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  const at::Tensor tokens = random_tokens(1, 24, 1);
  const at::Tensor expected = full_pass(*model, tokens)[0];
  for (const std::vector<int64_t>& pieces : std::vector<std::vector<int64_t>>{
           {24}, {1, 23}, {23, 1}, {7, 9, 8}, std::vector<int64_t>(24, 1)}) {
    const auto cache = pool.make_state(24);
    std::vector<at::Tensor> logits;
    for (const int64_t piece : pieces) {
      logits.push_back(run(*model, *cache, tokens.narrow(1, cache->length(), piece)));
    }
    EXPECT_LE(max_difference(at::cat(logits), expected), kTolerance) << pieces.size();
  }
}

/// What speculation does: append drafts, take some back, go on with other tokens.
TEST_P(TransformerArchitectures, EveryTruncationEqualsOnePass) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  const auto cache = pool.make_state(40);
  at::Tensor tokens = at::empty({1, 0}, at::kLong);
  Random random(7, "pattern");
  for (int step = 0; step < 60; ++step) {
    const int64_t most = std::min<int64_t>(cache->length(), 30);
    const auto kept = static_cast<int64_t>(random.below(static_cast<uint64_t>(most) + 1));
    if (cache->length() > 30 || random.below(2) == 0) cache->return_to(kept);
    const auto length = static_cast<int64_t>(1 + random.below(9));
    const at::Tensor fresh = random_tokens(1, length, 100 + static_cast<uint64_t>(step));
    tokens = at::cat({tokens.narrow(1, 0, cache->length()), fresh}, 1);
    const at::Tensor logits = run(*model, *cache, fresh);
    ASSERT_EQ(cache->length(), tokens.size(1));
    const at::Tensor expected =
        full_pass(*model, tokens)[0].narrow(0, tokens.size(1) - length, length);
    ASSERT_LE(max_difference(logits, expected), kTolerance) << "step " << step;
  }
}

/// The comparisons above must notice a cache that is off by one, stale, or at wrong positions.
TEST(Transformer, PlantedCacheFaultsAreSeen) {
  const auto model = small_model();
  KvPool pool(model->kv_layout());
  const at::Tensor tokens = random_tokens(1, 12, 3);
  const at::Tensor expected = full_pass(*model, tokens)[0].narrow(0, 11, 1);
  const auto prefilled = [&](int64_t length) {
    auto cache = pool.make_state(16);
    run(*model, *cache, tokens.narrow(1, 0, length));
    return cache;
  };
  const auto difference = [&](SequenceState& cache) {
    return max_difference(run(*model, cache, tokens.narrow(1, 11, 1)), expected);
  };
  EXPECT_LE(difference(*prefilled(11)), kTolerance);
  EXPECT_GT(difference(*prefilled(10)), 100 * kTolerance) << "one position short";
  const auto doubled = prefilled(11);
  for (int64_t layer = 0; layer < 2; ++layer) {
    doubled->append(layer, at::ones({1, 2, 1, 8}), at::ones({1, 2, 1, 8}));
  }
  doubled->commit(1);
  EXPECT_GT(difference(*doubled), 100 * kTolerance) << "one position too many";
  const auto swapped = prefilled(11);
  swapped->keep(9, std::vector<int64_t>{1});
  EXPECT_GT(difference(*swapped), 100 * kTolerance) << "a position moved to another's place";
}

/// Sequences of any lengths in one pass, forks among them, against a pass for each.
TEST_P(TransformerArchitectures, APassOverSeveralSequencesEqualsSeveralPasses) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  const std::vector<int64_t> cached{0, 3, 17, 9, 9}, fresh{5, 1, 4, 12, 2}, wanted{5, 1, 0, 3, 2};
  std::vector<std::unique_ptr<SequenceState>> together, alone;
  std::vector<TokenIds> tokens;
  std::vector<at::Tensor> expected;
  for (size_t i = 0; i < cached.size(); ++i) {
    for (auto* caches : {&together, &alone}) {
      // The last one is a fork of the one before it.
      caches->push_back(i + 1 < cached.size() ? pool.make_state(40) : caches->back()->fork());
      if (i + 1 < cached.size() && cached[i] > 0) {
        run(*model, *caches->back(), random_tokens(1, cached[i], 20 + i));
      }
    }
    const at::Tensor ids = random_tokens(1, fresh[i], 40 + i);
    const int64_t* data = ids.const_data_ptr<int64_t>();
    tokens.emplace_back(data, data + fresh[i]);
  }
  std::vector<SequenceStep> steps;
  for (size_t i = 0; i < cached.size(); ++i) {
    steps.push_back({.state = together[i].get(), .tokens = tokens[i], .num_logits = wanted[i]});
    expected.push_back(
        model->forward({.state = alone[i].get(), .tokens = tokens[i], .num_logits = wanted[i]}));
  }
  const at::Tensor logits = model->forward(steps);
  EXPECT_LE(max_difference(logits, at::cat(expected)), 1e-5);
  // And the caches go on as if they had been alone.
  for (size_t i = 0; i < cached.size(); ++i) {
    EXPECT_EQ(together[i]->length(), cached[i] + fresh[i]);
    const at::Tensor next = random_tokens(1, 2, 60);
    EXPECT_LE(max_difference(run(*model, *together[i], next), run(*model, *alone[i], next)), 1e-5)
        << i;
  }
}

/// Every path of a tree gets the logits that it would have alone, and stays cached alone.
TEST_P(TransformerArchitectures, ATreeEqualsItsPaths) {
  const auto model = Transformer::initialize(GetParam(), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  const at::Tensor prompt = random_tokens(1, 9, 30), tree = random_tokens(1, 6, 31);
  //  0 - 1 - 3
  //    \ 2 - 4      and 5 beside 0
  const std::vector<std::vector<int64_t>> paths{{0, 1, 3}, {0, 2, 4}, {5}};
  at::Tensor seen = at::zeros({6, 6}, at::kBool);
  for (const auto& path : paths) {
    for (size_t i = 0; i < path.size(); ++i) {
      for (size_t k = 0; k <= i; ++k) seen[path[i]][path[k]] = true;
    }
  }
  for (const std::vector<int64_t>& path : paths) {
    const auto cache = pool.make_state(40), plain = pool.make_state(40);
    run(*model, *cache, prompt);
    run(*model, *plain, prompt);
    const at::Tensor ids = at::tensor(path, at::kLong);
    const at::Tensor found = run(*model, *cache, tree, seen).index_select(0, ids);
    const at::Tensor own = tree.index_select(1, ids);
    EXPECT_LE(max_difference(found, run(*model, *plain, own)), 1e-5);
    cache->keep(9, path);
    if (GetParam().num_states() > 0) run(*model, *cache, own);  // which knows no path
    const at::Tensor next = random_tokens(1, 3, 32);
    EXPECT_LE(max_difference(run(*model, *cache, next), run(*model, *plain, next)), 1e-5);
    // One row of the mask off by one is seen.
    const auto wrong = pool.make_state(40);
    run(*model, *wrong, prompt);
    const at::Tensor shifted = seen.clone();
    shifted[path.back()][path.front()] = path.size() == 1;
    if (path.size() == 1) shifted[5][4] = true;
    const at::Tensor blurred = run(*model, *wrong, tree, shifted).index_select(0, ids);
    if (GetParam().widest_window() == 0) {
      EXPECT_GT(max_difference(blurred, found), 1e-3);
    }
  }
  const auto cache = pool.make_state(40);
  seen[2][2] = false;
  EXPECT_THROW(run(*model, *cache, tree, seen), Error);
  EXPECT_EQ(cache->length(), 0);
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

TEST(Transformer, ACausalTreeEqualsTheDefault) {
  const auto model = small_model();
  KvPool pool(model->kv_layout());
  const at::Tensor tokens = random_tokens(1, 9, 6);
  const auto first = pool.make_state(9), second = pool.make_state(9);
  const at::Tensor expected = run(*model, *first, tokens);
  EXPECT_EQ(expected.scalar_type(), at::kFloat);
  EXPECT_LE(
      max_difference(run(*model, *second, tokens, at::ones({9, 9}, at::kBool).tril()), expected),
      kTolerance);
}

TEST(Transformer, AWindowHidesWhatIsFartherBack) {
  ModelConfig config = small_config();
  set_windows(config, {4, 4});
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
TEST_P(TransformerArchitectures, APackedSegmentEqualsTheRowItStandsFor) {
  if (GetParam().num_states() > 0) GTEST_SKIP() << "segments of a row need rows";
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

/// Tensors [..,n,n] that were converted to another type.
std::atomic<int64_t> num_converted_squares = 0;

TEST(Transformer, AutocastHasNoMaskToConvert) {
  constexpr int64_t kTokens = 9;
  const auto model = small_model();
  const at::Tensor seen_B1TT = at::ones({1, 1, kTokens, kTokens}, at::kBool).tril();
  const at::Tensor positions_BT = at::arange(kTokens).unsqueeze(0);
  num_converted_squares = 0;
  const auto count = [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
    if (std::string_view(call.name()) != "aten::_to_copy") return nullptr;
    const auto sizes = call.inputs().front().toTensor().sizes();
    num_converted_squares +=
        sizes.size() >= 2 && sizes.back() == kTokens && sizes[sizes.size() - 2] == kTokens;
    return nullptr;
  };
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(count).needsInputs(true));
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor hidden_BTE =
      model->hidden_states(random_tokens(1, kTokens, 8), positions_BT, seen_B1TT);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::removeCallback(handle);
  EXPECT_EQ(num_converted_squares, 0);
  const at::NoGradGuard no_grad;
  EXPECT_LT(max_difference(hidden_BTE, model->hidden_states(random_tokens(1, kTokens, 8))), 0.2);
}

TEST(Transformer, ShapesAreChecked) {
  expect_user_error(
      [] { Transformer model(small_config(), [](const std::string&) { return at::ones({2}); }); },
      {"model.embed_tokens.weight", "[2]", "[61, 32]"});
}

}  // namespace
}  // namespace predgen

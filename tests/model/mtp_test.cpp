// A model's own layer to guess further tokens, and the hidden states that it reads.
#include <gtest/gtest.h>

#include "model/parts/mtp_input.h"
#include "tests/fakes/hybrid_models.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/logits_in_passes.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

ModelConfig config_with_mtp() {
  ModelConfig config = delta_config();
  config.num_mtp_layers = 1;
  config.norm_offset = 1.0;
  return config;
}

/// A model, and its layer with the same embeddings.
struct Pair {
  explicit Pair(const ModelConfig& config = config_with_mtp())
      : model(Transformer::initialize(config, 1, at::kFloat)),
        layer(Transformer::initialize(*config.mtp(), 2, at::kFloat)) {
    randomise(*model);
    randomise(*layer);
    layer->share_tables(*model);
  }
  std::unique_ptr<Transformer> model, layer;
};

struct Found {
  at::Tensor logits, hidden;  // of every token
};

Found run(const Transformer& model, const TokenIds& tokens, int64_t width,
          const at::Tensor& given_TE = {}) {
  KvPool pool(model.kv_layout());
  const auto state = pool.make_state(128);
  std::vector<at::Tensor> logits, hidden;
  for (int64_t begin = 0; begin < std::ssize(tokens); begin += width) {
    const int64_t count = std::min(width, std::ssize(tokens) - begin);
    SequenceStep step{
        .state = state.get(),
        .tokens = TokenSpan(tokens).subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
        .num_logits = count,
        .hidden_TE = &hidden.emplace_back()};
    if (given_TE.defined()) step.given_TE = given_TE.narrow(0, begin, count);
    logits.push_back(model.forward(step));
  }
  return {at::cat(logits), at::cat(hidden)};
}

TEST(Mtp, IsOneLayerOfAttentionWithTheModelsTables) {
  const ModelConfig config = config_with_mtp(), mtp = *config.mtp();
  EXPECT_EQ(mtp.num_layers(), 1);
  EXPECT_EQ(mtp.num_states(), 0);
  EXPECT_FALSE(mtp.mtp());
  EXPECT_FALSE(delta_config().mtp());
  ModelConfig several = config;
  several.num_mtp_layers = 2;
  EXPECT_FALSE(several.mtp());
  std::vector<std::string> names;
  for (const WeightSpec& weight : mtp_weights(config)) names.push_back(weight.name);
  EXPECT_EQ(names.front(), "mtp.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(names.back(), "mtp.fc.weight");
  for (const std::string& name : names) EXPECT_TRUE(name.starts_with("mtp.")) << name;
  EXPECT_TRUE(mtp_weights(delta_config()).empty());
  const Pair pair;
  const auto weights = pair.layer->named_weights();
  for (const std::string& name : names) EXPECT_TRUE(weights.contains(name)) << name;
}

TEST(Mtp, HiddenStatesAreThoseBeforeTheHead) {
  const Pair pair;
  const TokenIds tokens = some_tokens(40);
  for (const bool kernels : {false, true}) {
    pair.model->set_kernels(kernels);
    for (const int64_t width : {1, 7, 40}) {
      const Found found = run(*pair.model, tokens, width);
      const at::NoGradGuard no_grad;
      EXPECT_EQ(found.hidden.sizes(), (std::vector<int64_t>{40, 32}));
      EXPECT_LT(relative(pair.model->logits(found.hidden), found.logits), 1e-5);
      EXPECT_LT(relative(found.hidden,
                         pair.model->hidden_states(at::tensor(tokens, at::kLong).unsqueeze(0))[0]),
                1e-4)
          << kernels << width;
    }
  }
}

/// Of two sequences in a pass, one with a tree, and the other one not asked.
TEST(Mtp, HiddenStatesOfSharedPassesAndTreesAreTheirOwn) {
  const Pair pair;
  for (const bool kernels : {false, true}) {
    pair.model->set_kernels(kernels);
    KvPool pool(pair.model->kv_layout());
    const auto first = pool.make_state(64), second = pool.make_state(64);
    at::Tensor hidden;
    const TokenIds other{7, 8}, tree{1, 2, 3, 4};
    at::Tensor tree_TT = at::ones({4, 4}, at::kBool).tril();
    tree_TT[3][2] = false;  // 1, 2, then 3 or 4
    const std::vector<SequenceStep> steps{{.state = first.get(), .tokens = other},
                                          {.state = second.get(),
                                           .tokens = tree,
                                           .num_logits = 4,
                                           .tree_TT = tree_TT,
                                           .num_drafted = 2,
                                           .hidden_TE = &hidden}};
    pair.model->forward(steps);
    const at::Tensor one = run(*pair.model, {1, 2, 3}, 3).hidden,
                     another = run(*pair.model, {1, 2, 4}, 3).hidden;
    EXPECT_LT(relative(hidden.narrow(0, 0, 3), one), 1e-5) << kernels;
    EXPECT_LT(relative(hidden[3], another[2]), 1e-5) << kernels;
  }
}

TEST(Mtp, TheLayerReadsTokensBesideHiddenStates) {
  for (const bool has_experts : {false, true}) {
    ModelConfig config = config_with_mtp();
    if (has_experts) {
      for (LayerSpec& layer : config.layers) {
        layer.experts = {.count = 4, .chosen = 2, .width = 16, .shared_width = 8};
        layer.experts.storage = ExpertStorage::kStacked;
      }
    }
    const Pair pair(config);
    const TokenIds tokens = some_tokens(30);
    const at::Tensor given = normal({30, 32}, 3);
    pair.layer->set_kernels(false);
    const Found exact = run(*pair.layer, tokens, 30, given);
    EXPECT_LT(relative(run(*pair.layer, tokens, 1, given).logits, exact.logits), 1e-5);
    pair.layer->set_kernels(true);
    for (const int64_t width : {1, 7, 30}) {
      const Found found = run(*pair.layer, tokens, width, given);
      EXPECT_LT(relative(found.logits, exact.logits), 1e-5) << width;
      EXPECT_LT(relative(found.hidden, exact.hidden), 1e-5) << width;
    }
    // Both count, and none is taken for zeros.
    EXPECT_GT(relative(run(*pair.layer, tokens, 30, given.flip(0)).logits, exact.logits), 0.01);
    EXPECT_GT(relative(run(*pair.layer, some_tokens(31), 31).logits.narrow(0, 0, 30), exact.logits),
              0.01);
    EXPECT_LT(relative(run(*pair.layer, tokens, 30).logits,
                       run(*pair.layer, tokens, 30, at::zeros({30, 32})).logits),
              1e-6);
  }
}

}  // namespace
}  // namespace predgen

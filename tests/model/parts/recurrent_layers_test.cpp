// Models of which some layers keep a state instead of rows: whatever is drafted, taken back, forked
// or swapped out, the logits are those of one pass over the whole text.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "model/cpu/cpu_pass.h"
#include "model/gpu/gpu_pass.h"
#include "model/memory_estimate.h"
#include "tests/fakes/hybrid_models.h"
#include "tests/fakes/tensors.h"

namespace predgen {
namespace {

constexpr int64_t kRoom = 300;

at::Tensor whole(const Transformer& model, const TokenIds& tokens) {
  const at::NoGradGuard no_grad;
  return model.logits(model.hidden_states(at::tensor(tokens, at::kLong).unsqueeze(0)))[0];
}

TokenIds drawn(Random& random, uint64_t most) {
  TokenIds tokens(1 + random.below(most));
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.below(61));
  return tokens;
}

/// A text and what the model keeps of it; the state may lack the end of the text.
struct Text {
  std::unique_ptr<SequenceState> state;
  TokenIds tokens{};
};

/// Runs what the state lacks, `more`, and a draft, as a path or as a tree of two paths from one
/// place; expects the logits of whole texts.
void run_and_check(const Transformer& model, Text& text, const TokenIds& more,
                   const TokenIds& draft, bool is_tree) {
  text.tokens.insert(text.tokens.end(), more.begin(), more.end());
  TokenIds fresh(text.tokens.begin() + text.state->length(), text.tokens.end());
  const auto num_pending = std::ssize(fresh), num_drafted = std::ssize(draft);
  fresh.insert(fresh.end(), draft.begin(), draft.end());
  const auto T = std::ssize(fresh);
  at::Tensor tree_TT;
  const int64_t half = num_drafted / 2;
  if (is_tree) {  // the second half of the draft goes on from the pending tokens, too
    tree_TT = at::ones({T, T}, at::kBool).tril();
    tree_TT.narrow(0, num_pending + half, num_drafted - half)
        .narrow(1, num_pending, half)
        .fill_(false);
  }
  const at::Tensor logits = model.forward({.state = text.state.get(),
                                           .tokens = fresh,
                                           .num_logits = T,
                                           .tree_TT = tree_TT,
                                           .num_drafted = num_drafted});
  const auto expect_end = [&](const at::Tensor& found, TokenSpan behind) {
    TokenIds all = text.tokens;
    all.insert(all.end(), behind.begin(), behind.end());
    const int64_t count = found.size(0);
    const at::Tensor expected = whole(model, all).narrow(0, std::ssize(all) - count, count);
    ASSERT_LE((found - expected).abs().max().item<double>(),
              1e-3);  // rounding; a wrong state is off by tenths
  };
  const int64_t first = is_tree ? half : num_drafted;
  expect_end(logits.narrow(0, 0, num_pending + first),
             TokenSpan(draft).first(static_cast<size_t>(first)));
  if (is_tree && num_drafted > half) {
    expect_end(logits.narrow(0, num_pending + half, num_drafted - half),
               TokenSpan(draft).subspan(static_cast<size_t>(half)));
  }
}

class RecurrentLayersOf : public testing::TestWithParam<HybridCase> {};
INSTANTIATE_TEST_SUITE_P(, RecurrentLayersOf, testing::ValuesIn(hybrid_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RecurrentLayersOf, ACampaignOfDraftsForksAndReturnsEqualsOnePass) {
  const auto model = Transformer::initialize(GetParam().config(), 1, at::kFloat);
  // A pool with room for some of the texts, so that it swaps out.
  const int64_t small = 300 + 60 * model->kv_layout().positions_per_snapshot();
  int64_t most_swapped_out = 0, kept_drafts = 0, reused = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    KvPool pool(model->kv_layout(), seed < 3 ? 1000000 : small);
    Random random(seed, "texts");
    std::vector<Text> texts;
    texts.push_back({pool.make_state(kRoom)});
    for (int step = 0; step < 40; ++step) {
      const size_t i = random.below(texts.size());
      if (random.below(6) == 0 && texts.size() < 4) {
        texts.push_back({texts[i].state->fork(), texts[i].tokens});
      }
      Text& text = texts[i];
      if (random.below(4) == 0) {  // the user revises
        const auto length = static_cast<int64_t>(random.below(text.tokens.size() + 1));
        text.tokens.resize(static_cast<size_t>(length));
        const int64_t most = std::min(length, text.state->length());
        const int64_t point = text.state->return_point(most);
        EXPECT_EQ(text.state->return_to(most), point);
        reused += point > 0;
      }
      if (text.tokens.size() > 60) text = {pool.make_state(kRoom)};
      const TokenIds draft = random.below(2) == 0 ? TokenIds() : drawn(random, 6);
      const bool is_tree = !draft.empty() && random.below(2) == 0;
      run_and_check(*model, text, drawn(random, 9), draft, is_tree);
      if (testing::Test::HasFatalFailure()) return;
      // Some of the draft is right.
      const auto right = static_cast<int64_t>(random.below(draft.size() + 1));
      const int64_t path = is_tree ? std::min(right, std::ssize(draft) / 2) : right;
      text.tokens.insert(text.tokens.end(), draft.begin(), draft.begin() + path);
      const int64_t length = std::ssize(text.tokens);
      kept_drafts +=
          text.state->return_to(std::min(length, text.state->length())) == length && !draft.empty();
      most_swapped_out = std::max(most_swapped_out, pool.num_swapped_out());
    }
    texts.clear();
    EXPECT_EQ(pool.num_snapshots(), 0);
  }
  EXPECT_GT(most_swapped_out, 0);
  EXPECT_GT(kept_drafts, 5);
  EXPECT_GT(reused, 5);
}

TEST(RecurrentLayers, APathOfATreeRunsAgain) {
  const auto model = Transformer::initialize(hybrid_config(), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  Text text{pool.make_state(kRoom)};
  run_and_check(*model, text, {1, 2, 3}, {4, 5, 6, 7}, /*is_tree=*/true);
  EXPECT_FALSE(text.state->can_return_to(7));
  EXPECT_TRUE(text.state->can_return_to(3));
  text.state->keep(3, std::vector<int64_t>{2, 3});
  EXPECT_EQ(text.state->length(), 3);
  text.tokens.insert(text.tokens.end(), {6, 7});
  run_and_check(*model, text, {8}, {}, false);
  EXPECT_EQ(text.state->length(), 6);
}

/// One that throws before its end leaves the state that it began with.
TEST(RecurrentLayers, AFailedPassChangesNothing) {
  const auto model = Transformer::initialize(hybrid_config(), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  Text text{pool.make_state(8)};
  run_and_check(*model, text, {1, 2, 3}, {}, false);
  EXPECT_THROW(run_and_check(*model, text, TokenIds(6, 1), {}, false), Error);
  text.tokens.resize(3);
  text.state->cancel();
  run_and_check(*model, text, {4}, {5}, false);
}

TEST(RecurrentLayers, KeepAFewSnapshotsThatCostWhatTheySay) {
  const auto model = Transformer::initialize(hybrid_config(), 1, at::kFloat);
  const KvLayout layout = model->kv_layout();
  EXPECT_EQ(layout.num_layers, 1);
  EXPECT_EQ(layout.num_states, 1);
  EXPECT_EQ(layout.bytes_per_snapshot, 32 * 4);
  EXPECT_EQ(layout.positions_per_snapshot(), 1);  // of 2 * 2 heads * 8 values
  KvPool pool(layout);
  const auto state = pool.make_state(kRoom);
  const TokenIds tokens{1, 2};
  for (int i = 0; i < 100; ++i) model->forward({.state = state.get(), .tokens = tokens});
  EXPECT_EQ(pool.num_snapshots(), layout.max_snapshots);
  EXPECT_EQ(pool.num_allocated() + pool.num_snapshots() + pool.num_free(),
            std::numeric_limits<int64_t>::max());
  EXPECT_EQ(state->return_point(199), 199);
  EXPECT_GT(state->return_point(160), 100) << "the farther back, the farther apart";
  const auto fork = state->fork();
  EXPECT_EQ(pool.num_snapshots(), layout.max_snapshots) << "shared";
}

/// A user's text grows and is revised anywhere: little of it runs again.
TEST_P(RecurrentLayersOf, ARevisedTranscriptRunsFewTokensAgain) {
  const auto model = Transformer::initialize(GetParam().config(), 1, at::kFloat);
  KvPool pool(model->kv_layout());
  EXPECT_EQ(pool.layout().max_snapshots, 16);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Random random(seed, "words");
    const auto state = pool.make_state(kRoom);
    TokenIds tokens(30 + random.below(30), 1);  // the conversation so far
    const int64_t begin = std::ssize(tokens);
    for (int step = 0; step < 40; ++step) {
      const TokenIds more(1 + random.below(4), 2);
      tokens.insert(tokens.end(), more.begin(), more.end());
      const TokenSpan fresh = TokenSpan(tokens).subspan(static_cast<size_t>(state->length()));
      model->forward({.state = state.get(), .tokens = fresh});
      const int64_t kept = std::ssize(tokens) - static_cast<int64_t>(random.below(9));
      const int64_t at_most = std::clamp(kept, begin, state->length());
      for (int64_t place = std::max(begin, std::ssize(tokens) - 100); place < at_most; ++place) {
        EXPECT_LE(place - state->return_point(place), kSnapshotDistance) << place;
      }
      EXPECT_LE(at_most - state->return_to(at_most), kSnapshotDistance);
      tokens.resize(static_cast<size_t>(at_most));
    }
  }
}

TEST(RecurrentLayers, HaveWhatFitsIntoTheirMemory) {
  const auto model = Transformer::initialize(delta_config(), 1, at::kFloat);
  const int64_t bytes = model->kv_layout().bytes_per_snapshot;
  EXPECT_EQ(bytes, 4 * 2 * (3 * (16 + 12) + 2 * 8 * 6));
  for (const int64_t most : {2, 3, 5, 9}) {
    model->set_state_memory(most * bytes + bytes / 2);
    KvPool pool(model->kv_layout());
    const auto state = pool.make_state(kRoom);
    for (int i = 0; i < 20; ++i) {
      const TokenIds tokens{1, 2, 3, 4, 5};
      model->forward({.state = state.get(), .tokens = tokens, .num_drafted = 2, .num_settled = 1});
      EXPECT_LE(pool.num_snapshots(), most);
      EXPECT_EQ(state->return_point(state->length() - 2), state->length() - 2);
      EXPECT_TRUE(state->can_return_to(state->length()));
    }
  }
}

TEST_P(RecurrentLayersOf, TheirLinearsRunInFewBits) {
  const auto model = Transformer::initialize(GetParam().config(), 1, at::kFloat);
  const TokenIds tokens{1, 2, 3, 4, 5};
  const at::Tensor exact = whole(*model, tokens);
  EXPECT_LT(model->quantize(Quantization::kInt8), 0.02);
  const double change = ((whole(*model, tokens) - exact).norm() / exact.norm()).item<double>();
  EXPECT_GT(change, 0);
  EXPECT_LT(change, 0.05);
}

TEST(RecurrentLayers, HaveNamesWeightsAndAnEstimateAndNoKernels) {
  const ModelConfig config = hybrid_config();
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  EXPECT_EQ(model->linears().front()->name, "model.layers.0.recurrence.keep_proj");
  EXPECT_EQ(model->linears().size(), 3u + 3 + 7);
  const std::vector<WeightSpec> weights = weight_layout(config);
  EXPECT_EQ(weights[1].name, "model.layers.0.recurrence.keep_proj.weight");
  EXPECT_EQ(weights[2].gguf, "blk.0.rec_keep.bias");
  EXPECT_EQ(model->named_weights().size(), weights.size());
  EXPECT_EQ(snapshot_bytes(config), 32 * 2);
  EXPECT_EQ(kv_bytes_per_token(config), 2 * 2 * 8 * 2);
  EXPECT_NE(CpuPass::refusal(config).find("gated recurrence"), std::string::npos);
  EXPECT_NE(GpuPass::refusal(config).find("gated recurrence"), std::string::npos);
}

}  // namespace
}  // namespace predgen

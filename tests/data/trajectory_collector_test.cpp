#include "data/trajectory_collector.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "runtime/generate/sampler.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/small_models.h"

namespace predgen::data {
namespace {

/// The model's choice after each of the last `count` tokens, in one pass over all of them.
TokenIds choices(const LanguageModel& model, const TokenIds& tokens, int64_t count) {
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(static_cast<int64_t>(tokens.size()));
  return argmax_rows(model.forward({.state = cache.get(), .tokens = tokens, .num_logits = count}));
}

/// Plain greedy decoding, one token a pass.
TokenIds greedy(const LanguageModel& model, TokenIds tokens, int64_t count) {
  for (int64_t i = 0; i < count; ++i) tokens.push_back(choices(model, tokens, 1).front());
  return TokenIds(tokens.end() - count, tokens.end());
}

std::vector<Trajectory> collect(const LanguageModel& model,
                                std::span<const TrajectoryPrompt> prompts,
                                const CollectorConfig& config) {
  Engine engine = borrowing_engine(model);
  return collect_trajectories(engine, prompts, config, {});
}

TokenIds random_prompt(uint64_t seed, uint64_t size, uint64_t vocab) {
  Random random(seed, "test prompt");
  TokenIds prompt(size);
  for (TokenId& token : prompt) token = static_cast<TokenId>(random.below(vocab));
  return prompt;
}

TokenIds fixed_points(const Trajectory& trajectory) {
  TokenIds tokens;
  for (const TrajectoryBlock& block : trajectory.blocks) {
    tokens.insert(tokens.end(), block.states.back().begin(), block.states.back().end());
  }
  return tokens;
}

/// What every trajectory promises, whatever the model.
void check_states(const LanguageModel& model, const TrajectoryPrompt& prompt,
                  const Trajectory& trajectory, const CollectorConfig& config) {
  const auto size = static_cast<size_t>(config.block_size);
  const TokenIds expected =
      greedy(model, prompt.tokens, static_cast<int64_t>(trajectory.blocks.size() * size));
  EXPECT_EQ(fixed_points(trajectory), expected);
  TokenIds sequence = prompt.tokens;
  for (const TrajectoryBlock& block : trajectory.blocks) {
    const TokenIds& last = block.states.back();
    for (size_t s = 0; s < block.states.size(); ++s) {
      ASSERT_EQ(block.states[s].size(), size);
      EXPECT_EQ(block.states[s][0], last[0]);  // the first token was known before the block
      if (s == 0) continue;
      EXPECT_NE(block.states[s], block.states[s - 1]);
      // A pass gives what greedy decoding would choose after each token of the state before it.
      TokenIds context = sequence;
      context.insert(context.end(), block.states[s - 1].begin(), block.states[s - 1].end() - 1);
      const TokenIds chosen = choices(model, context, config.block_size - 1);
      EXPECT_TRUE(std::equal(chosen.begin(), chosen.end(), block.states[s].begin() + 1));
    }
    // The first state is untouched: nothing but tokens of the sequence so far.
    TokenIds known = sequence;
    known.push_back(last[0]);
    for (const TokenId token : block.states.front()) {
      EXPECT_NE(std::find(known.begin(), known.end(), token), known.end());
    }
    sequence.insert(sequence.end(), last.begin(), last.end());
  }
}

CollectorConfig config(int64_t block_size, int64_t max_new_tokens) {
  CollectorConfig result;
  result.block_size = block_size;
  result.max_new_tokens = max_new_tokens;
  result.seed = 5;
  return result;
}

TEST(TrajectoryCollector, StatesAndFixedPointOfAFakeModel) {
  const FakeLanguageModel model({});
  const CollectorConfig collector = config(6, 18);
  std::vector<TrajectoryPrompt> prompts;
  for (uint64_t i = 0; i < 5; ++i) prompts.push_back({i, random_prompt(i, 3 + 4 * i, 31)});
  const auto trajectories = collect(model, prompts, collector);
  ASSERT_EQ(trajectories.size(), 5u);
  size_t longest = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_EQ(trajectories[i].blocks.size(), 3u);
    EXPECT_EQ(trajectories[i].answer, greedy(model, prompts[i].tokens, 18));
    check_states(model, prompts[i], trajectories[i], collector);
    for (const auto& block : trajectories[i].blocks) {
      longest = std::max(longest, block.states.size());
    }
  }
  EXPECT_GE(longest, 4u);
}

TEST(TrajectoryCollector, TheRandomStateSurvives) {
  // A constant model: whatever the guess, one pass gives the fixed point. If state 0 were
  // overwritten in place, it would equal the last state.
  FakeLanguageModel::Options options;
  options.next = [](TokenSpan) { return TokenId{7}; };
  const FakeLanguageModel model(options);
  const std::vector<TrajectoryPrompt> prompts{{0, {1, 2, 3}}};
  const auto trajectories = collect(model, prompts, config(8, 8));
  const auto& states = trajectories[0].blocks.at(0).states;
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1], TokenIds(8, 7));
  EXPECT_NE(states[0], states[1]);
}

TEST(TrajectoryCollector, StopTokensCountInTheAnswerOnly) {
  constexpr TokenId kStop = 30;
  FakeLanguageModel::Options options;
  options.next = [](TokenSpan history) {  // counts up from the prompt's length
    return history.size() == 16 ? kStop : static_cast<TokenId>(history.size() % 25);
  };
  const FakeLanguageModel model(options);
  CollectorConfig collector = config(4, 40);
  collector.stop_tokens = {kStop};
  const std::vector<TrajectoryPrompt> prompts{{0, {kStop, 1, kStop, 2, 3, kStop}},
                                              {1, {1, 2, 3, 4}}};
  const auto trajectories = collect(model, prompts, collector);
  EXPECT_TRUE(trajectories[0].stopped);
  EXPECT_EQ(trajectories[0].answer.size(), 11u);  // positions 6 .. 16
  EXPECT_EQ(trajectories[0].answer.back(), kStop);
  EXPECT_EQ(trajectories[0].blocks.size(), 3u);
  EXPECT_EQ(trajectories[1].answer.size(), 13u);
  EXPECT_EQ(trajectories[1].blocks.size(), 4u);
}

TEST(TrajectoryCollector, StopsAtTheLimits) {
  FakeLanguageModel::Options options;
  options.max_positions = 20;
  const FakeLanguageModel model(options);
  const std::vector<TrajectoryPrompt> prompts{{0, random_prompt(0, 9, 31)}};
  const auto cut = collect(model, prompts, config(4, 6));
  EXPECT_EQ(cut[0].answer.size(), 6u);
  EXPECT_EQ(cut[0].blocks.size(), 2u);
  EXPECT_FALSE(cut[0].stopped);
  const auto full = collect(model, prompts, config(4, 100));
  EXPECT_EQ(full[0].answer.size(), 8u);  // 9 + 8 + 4 would be beyond 20
}

TEST(TrajectoryCollector, TransformerBatchEqualsSingleRowsAndGreedyDecoding) {
  at::set_num_threads(1);  // tiny products: threads would only wait for each other
  const auto model = small_model(11);
  CollectorConfig collector = config(8, 24);
  std::vector<TrajectoryPrompt> prompts;
  for (uint64_t i = 0; i < 6; ++i) prompts.push_back({i, random_prompt(100 + i, 5 + 7 * i, 61)});
  collector.stop_tokens = {greedy(*model, prompts[2].tokens, 5).back()};
  const auto batch = collect(*model, prompts, collector);
  for (size_t i = 0; i < prompts.size(); ++i) {
    check_states(*model, prompts[i], batch[i], collector);
    const auto single = collect(*model, {&prompts[i], 1}, collector);
    EXPECT_EQ(single[0].answer, batch[i].answer);
    ASSERT_EQ(single[0].blocks.size(), batch[i].blocks.size());
    for (size_t b = 0; b < single[0].blocks.size(); ++b) {
      EXPECT_EQ(single[0].blocks[b].states, batch[i].blocks[b].states);
    }
  }
  EXPECT_TRUE(batch[2].stopped);
}

TEST(TrajectoryCollector, PassesStayWithinTheirTokensAndTheHeadRunsWhereTokensAreTaken) {
  const FakeLanguageModel model({});
  CollectorConfig collector = config(8, 24);
  collector.batch_tokens = 64;
  std::vector<TrajectoryPrompt> prompts;
  int64_t prompt_tokens = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    prompts.push_back({i, random_prompt(i, 2 + (11 * i) % 31, 31)});
    prompt_tokens += std::ssize(prompts.back().tokens);
  }
  Engine engine = borrowing_engine(model);
  int64_t num_tokens = 0, num_logits = 0, num_sequences = 0, last = 0;
  engine.observe_passes([&](const PassSize& size) {
    EXPECT_LE(size.num_tokens, collector.batch_tokens);
    num_tokens += size.num_tokens;
    num_logits += size.num_logits;
    num_sequences += size.num_sequences;
  });
  const auto trajectories =
      collect_trajectories(engine, prompts, collector, {}, [&](int64_t num_solved) {
        EXPECT_GT(num_solved, last);  // answers leave as they are through
        last = num_solved;
      });
  EXPECT_EQ(last, 100);
  for (size_t i = 0; i < prompts.size(); ++i) {
    check_states(model, prompts[i], trajectories[i], collector);
  }
  // One position of a prompt, and all that is not solved of a block.
  EXPECT_EQ(num_logits, num_tokens - prompt_tokens + 100);
  const double passes = static_cast<double>(engine.num_forward_passes());
  EXPECT_GT(static_cast<double>(num_tokens) / passes, 0.7 * 64);  // full, as new ones come in
  EXPECT_GT(static_cast<double>(num_sequences) / passes, 8);      // 64 tokens are 8 whole blocks
}

TEST(TrajectoryCollector, CachesStayWithinTheirPositions) {
  const FakeLanguageModel model({});
  CollectorConfig collector = config(4, 10);
  collector.cache_positions = 50;  // two answers of 12 tokens to prompts of 10
  std::vector<TrajectoryPrompt> prompts;
  for (uint64_t i = 0; i < 9; ++i) prompts.push_back({i, random_prompt(i, 10, 31)});
  prompts.push_back({9, random_prompt(9, 90, 31)});  // more than all of them: alone
  Engine engine = borrowing_engine(model);
  int64_t widest = 0;
  engine.observe_passes(
      [&](const PassSize& size) { widest = std::max(widest, size.num_sequences); });
  const auto trajectories = collect_trajectories(engine, prompts, collector, {});
  EXPECT_EQ(widest, 2);
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(trajectories[i].answer, greedy(model, prompts[i].tokens, 10));
  }
}

}  // namespace
}  // namespace predgen::data

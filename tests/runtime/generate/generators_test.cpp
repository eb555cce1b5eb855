#include <gtest/gtest.h>

#include "core/random.h"
#include "runtime/generate/autoregressive_generator.h"
#include "runtime/generate/jacobi_generator.h"
#include "runtime/generate/make_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

struct Outcome {
  TokenIds tokens;
  GenerationResult result;
  std::vector<TokenIds> batches;
  int64_t cached = 0;
};

Outcome run(Generator& generator, Engine& engine, const TokenIds& prompt,
            const GenerationConfig& config, int64_t capacity = 512, TokenIds guess = {},
            size_t max_batches = 1000) {
  Sequence sequence = sequence_of(engine, prompt, capacity);
  Outcome run;
  run.result = generator.generate(sequence, guess, config, [&](TokenSpan tokens) {
    run.batches.emplace_back(tokens.begin(), tokens.end());
    return run.batches.size() < max_batches;
  });
  run.tokens.assign(sequence.tokens().begin() + static_cast<int64_t>(prompt.size()),
                    sequence.tokens().end());
  run.cached = sequence.num_cached();
  EXPECT_EQ(run.cached, sequence.size() - 1);
  return run;
}

TokenIds random_prompt(uint64_t seed) {
  Random random(seed, "prompt");
  TokenIds prompt(1 + random.below(12));
  for (TokenId& id : prompt) id = static_cast<TokenId>(random.below(31));
  return prompt;
}

TEST(AutoregressiveGenerator, OneTokenAPassUntilTheLimit) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  AutoregressiveGenerator generator(engine);
  const Outcome result =
      run(generator, engine, {1, 2, 3}, {.max_new_tokens = 7, .stop_tokens = {}});
  EXPECT_EQ(result.tokens.size(), 7u);
  EXPECT_EQ(result.result.num_forward_passes, 7);
  EXPECT_EQ(result.result.stop_reason, StopReason::kMaxNewTokens);
  EXPECT_EQ(model.pass_sizes, (std::vector<int64_t>{3, 1, 1, 1, 1, 1, 1}));
}

TEST(JacobiGenerator, GivesTheAutoregressiveTextInFewerPasses) {
  int64_t passes = 0, tokens = 0, stopped = 0, full = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const FakeLanguageModel model({.memory = 1, .surprise = 3});
    Engine engine = borrowing_engine(model);
    AutoregressiveGenerator plain(engine);
    JacobiGenerator jacobi(engine, 1 + static_cast<int64_t>(seed % 9), seed);
    const TokenIds prompt = random_prompt(seed);
    const GenerationConfig config{.max_new_tokens = 1 + static_cast<int64_t>(seed % 40),
                                  .stop_tokens = {3, 17}};
    const int64_t capacity = seed % 5 == 0 ? static_cast<int64_t>(prompt.size()) + 9 : 512;
    const Outcome expected = run(plain, engine, prompt, config, capacity);
    const TokenIds guess = seed % 2 ? TokenIds{1, 2, 3, 4} : TokenIds(60, 5);
    const Outcome got = run(jacobi, engine, prompt, config, capacity, guess);
    ASSERT_EQ(got.tokens, expected.tokens) << seed;
    EXPECT_EQ(got.result.stop_reason, expected.result.stop_reason) << seed;
    EXPECT_EQ(got.result.num_new_tokens, expected.result.num_new_tokens);
    EXPECT_LE(got.result.num_forward_passes, expected.result.num_forward_passes);
    passes += got.result.num_forward_passes;
    tokens += expected.result.num_new_tokens;
    stopped += got.result.stop_reason == StopReason::kStopToken;
    full += got.result.stop_reason == StopReason::kCacheFull;
  }
  EXPECT_GT(stopped, 20);
  EXPECT_GT(full, 3);
  EXPECT_LT(passes, tokens);  // a window that never commits a guess would be equal
}

TEST(JacobiGenerator, CommitsARightGuessAtOnce) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  AutoregressiveGenerator plain(engine);
  const GenerationConfig config{.max_new_tokens = 24, .stop_tokens = {}};
  const Outcome expected = run(plain, engine, {4, 5}, config);
  JacobiGenerator jacobi(engine, 8);
  const Outcome got = run(jacobi, engine, {4, 5}, config, 512, expected.tokens);
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_EQ(got.result.num_forward_passes, 3);  // 8 of 24 tokens a pass
}

TEST(JacobiGenerator, KeepsItsWidthAndTheLimit) {
  const FakeLanguageModel model({.surprise = 1});
  Engine engine = borrowing_engine(model);
  JacobiGenerator jacobi(engine, 5);
  const Outcome got = run(jacobi, engine, {4, 5}, {.max_new_tokens = 30, .stop_tokens = {}});
  EXPECT_EQ(got.tokens.size(), 30u);
  EXPECT_EQ(model.pass_sizes.front(), 2 + 4);
  for (size_t i = 1; i + 5 < model.pass_sizes.size(); ++i) EXPECT_EQ(model.pass_sizes[i], 5);
}

TEST(Generators, StopBetweenPassesWhenCancelled) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  for (const std::string& name : generator_names()) {
    const auto generator = make_generator({.name = name}, engine);
    const Outcome got =
        run(*generator, engine, {4, 5}, {.max_new_tokens = 30, .stop_tokens = {}}, 512, {}, 2);
    EXPECT_EQ(got.result.stop_reason, StopReason::kCancelled) << name;
    EXPECT_EQ(got.result.num_forward_passes, 2) << name;
    EXPECT_EQ(got.tokens.size(), got.batches[0].size() + got.batches[1].size()) << name;
  }
}

TEST(MakeGenerator, NamesItsList) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  expect_user_error([&] { make_generator({.name = "beam"}, engine); }, {"beam", "ar", "jacobi"});
  expect_user_error([&] { make_generator({.name = "jacobi", .block_size = 0}, engine); },
                    {"block size", "0"});
  expect_user_error(
      [&] { make_generator({.name = "jacobi", .sampling = SamplingConfig{}}, engine); },
      {"jacobi", "greedy"});
}

TEST(StopReason, HasAName) {
  EXPECT_EQ(to_string(StopReason::kStopToken), "stop_token");
  EXPECT_EQ(to_string(StopReason::kMaxNewTokens), "max_new_tokens");
  EXPECT_EQ(to_string(StopReason::kCacheFull), "cache_full");
  EXPECT_EQ(to_string(StopReason::kCancelled), "cancelled");
}

}  // namespace
}  // namespace predgen

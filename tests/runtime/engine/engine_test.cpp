#include "runtime/engine/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/error.h"
#include "core/random.h"
#include "runtime/generate/sampler.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

TokenIds random_ids(uint64_t seed, size_t count) {
  Random random(seed, "ids");
  TokenIds ids(count);
  for (TokenId& id : ids) id = static_cast<TokenId>(random.below(31));
  return ids;
}

/// The logits of one pass over everything.
at::Tensor in_one_pass(TokenIds tokens, TokenSpan draft) {
  const FakeLanguageModel model({});
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(4096);
  tokens.insert(tokens.end(), draft.begin(), draft.end());
  return model.forward({.state = cache.get(),
                        .tokens = tokens,
                        .num_logits = static_cast<int64_t>(draft.size()) + 1});
}

TEST(Engine, ALongPromptTakesPassesThatCount) {
  const TokenIds prompt = random_ids(1, 20), draft = random_ids(2, 3);
  for (int64_t pass_tokens = 1; pass_tokens < 30; ++pass_tokens) {
    const FakeLanguageModel model({});
    Engine engine = borrowing_engine(model, {.pass_tokens = pass_tokens});
    Sequence sequence = sequence_of(engine, prompt, 64);
    std::vector<PassSize> passes;
    engine.observe_passes([&](const PassSize& pass) { passes.push_back(pass); });
    const EngineResult result = engine.run({.sequence = &sequence, .draft = draft});
    EXPECT_TRUE(at::equal(*result.logits, in_one_pass(prompt, draft))) << pass_tokens;
    // The last pending token and the draft stay together.
    int64_t expected = 1;
    for (int64_t left = 23; left > std::max<int64_t>(pass_tokens, 4); ++expected) {
      left -= std::min(pass_tokens, left - 4);
    }
    EXPECT_EQ(result.num_forward_passes, expected) << pass_tokens;
    EXPECT_EQ(engine.num_forward_passes(), expected);
    EXPECT_EQ(static_cast<int64_t>(passes.size()), expected);
    int64_t num_tokens = 0;
    for (const PassSize& pass : passes) {
      EXPECT_LE(pass.num_tokens, std::max<int64_t>(pass_tokens, 4));
      num_tokens += pass.num_tokens;
    }
    EXPECT_EQ(num_tokens, 23);
    EXPECT_EQ(passes.back().num_logits, 4);
  }
}

TEST(Engine, LogitsOfLastTokensAreThoseThatTheLastPassRuns) {
  const TokenIds prompt = random_ids(1, 20), draft = random_ids(2, 3);
  const FakeLanguageModel model({});
  for (const int64_t pass_tokens : {4, 9, 512}) {
    Engine engine = borrowing_engine(model, {.pass_tokens = pass_tokens});
    Sequence sequence = sequence_of(engine, prompt, 64);
    const at::Tensor logits_NV =
        *engine.run({.sequence = &sequence, .draft = draft, .num_logits = 6}).logits;
    TokenIds longer(prompt.end() - 5, prompt.end());
    longer.insert(longer.end(), draft.begin(), draft.end());
    const at::Tensor all_NV = in_one_pass(TokenIds(prompt.begin(), prompt.end() - 5), longer);
    const int64_t expected = pass_tokens == 512 ? 9 : pass_tokens == 9 ? 3 + 2 : 3 + 1;
    ASSERT_EQ(logits_NV.size(0), expected) << pass_tokens;
    EXPECT_TRUE(at::equal(logits_NV, all_NV.narrow(0, 9 - expected, expected))) << pass_tokens;
  }
}

TEST(Engine, StopsBetweenThePassesOfAPromptAndGoesOnFromThere) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model, {.pass_tokens = 6});
  const TokenIds prompt = random_ids(3, 20);
  Sequence sequence = sequence_of(engine, prompt, 64);
  int asked = 0;
  const EngineResult stopped =
      engine.run({.sequence = &sequence, .should_stop = [&] { return ++asked == 2; }});
  EXPECT_FALSE(stopped.logits);
  EXPECT_EQ(stopped.num_forward_passes, 2);
  EXPECT_EQ(sequence.num_cached(), 12);
  const EngineResult rest = engine.run({.sequence = &sequence});
  EXPECT_TRUE(at::equal(*rest.logits, in_one_pass(prompt, {})));
  EXPECT_EQ(model.pass_sizes, (std::vector<int64_t>{6, 6, 6, 2}));
}

TEST(Engine, SeveralSequencesShareAPassAndTheUrgentGoFirst) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model, {.pass_tokens = 10});
  std::vector<TokenIds> prompts;
  std::vector<Sequence> sequences;
  for (uint64_t i = 0; i < 4; ++i) {
    prompts.push_back(random_ids(10 + i, 4 + 5 * i));  // 4, 9, 14, 19
    sequences.push_back(sequence_of(engine, prompts.back(), 64));
  }
  std::vector<int64_t> num_logits;
  engine.observe_passes([&](const PassSize& pass) { num_logits.push_back(pass.num_logits); });
  const TokenIds draft{1, 2};
  const std::vector<EngineResult> results = engine.run(std::vector<EngineRequest>{
      {.sequence = &sequences[0], .priority = Priority::kSpeculative},
      {.sequence = &sequences[1], .draft = draft, .priority = Priority::kCommitted},
      {.sequence = &sequences[2], .priority = Priority::kCommitted},
      {.sequence = &sequences[3], .priority = Priority::kSpeculative}});
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(at::equal(*results[i].logits,
                          in_one_pass(prompts[i], i == 1 ? TokenSpan(draft) : TokenSpan())))
        << i;
  }
  // 8 of the second, which is shorter, and 2 of the third; the second's last one with its draft,
  // and 7 of the third; its other 5, all of the first, one of the last; then the rest of the last.
  EXPECT_EQ(model.pass_sizes, (std::vector<int64_t>{10, 10, 10, 10, 8}));
  EXPECT_EQ(num_logits, (std::vector<int64_t>{0, 3, 2, 0, 1}));
  EXPECT_EQ(results[2].num_forward_passes, 3);
  EXPECT_EQ(results[1].num_forward_passes, 2);
  EXPECT_EQ(results[0].num_forward_passes, 1);
  EXPECT_EQ(results[3].num_forward_passes, 3);
}

TEST(Engine, AStoppedRequestLeavesTheOthersTheirPasses) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model, {.pass_tokens = 4});
  Sequence first = sequence_of(engine, random_ids(1, 9), 64);
  Sequence second = sequence_of(engine, random_ids(2, 3), 64);
  const std::vector<EngineResult> results = engine.run(std::vector<EngineRequest>{
      {.sequence = &first, .should_stop = [] { return true; }}, {.sequence = &second}});
  EXPECT_FALSE(results[0].logits);
  EXPECT_EQ(results[0].num_forward_passes, 1);
  EXPECT_TRUE(at::equal(*results[1].logits, in_one_pass(random_ids(2, 3), {})));
}

TEST(Engine, ATreeIsVerifiedInOnePassAndItsBestPathKept) {
  const TokenIds prompt = random_ids(5, 7);
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model, {.pass_tokens = 8});
  // The answer's first two tokens under a wrong sibling each.
  const TokenId first = argmax_rows(in_one_pass(prompt, {}))[0];
  const TokenId second = argmax_rows(in_one_pass(prompt, TokenIds{first})).back();
  const TokenIds tree{(first + 1) % 31, first, (second + 1) % 31, second};
  at::Tensor sees = at::eye(4, at::kBool);
  sees[2][1] = sees[3][1] = true;
  Sequence sequence = sequence_of(engine, prompt, 64);
  const at::Tensor logits =
      *engine.run({.sequence = &sequence, .draft = tree, .tree_GG = sees}).logits;
  const TokenIds choices = argmax_rows(logits);
  EXPECT_EQ(choices[0], first);
  EXPECT_EQ(choices[2], second);  // after the token at 1
  const TokenId third = choices[4];
  EXPECT_EQ(third, argmax_rows(in_one_pass(prompt, TokenIds{first, second})).back());
  sequence.keep_path(std::vector<int64_t>{1, 3});
  sequence.append(TokenIds{first, second, third});
  EXPECT_EQ(sequence.num_cached(), 9);
  const EngineResult next = engine.run({.sequence = &sequence});
  EXPECT_TRUE(
      at::equal(*next.logits, in_one_pass(prompt, TokenIds{first, second, third}).narrow(0, 3, 1)));
  EXPECT_EQ(next.num_forward_passes, 1);
}

TEST(Engine, MasksGoToThePassThatEndsTheRequest) {
  class Noting : public FakeLanguageModel {
   public:
    Noting() : FakeLanguageModel({}) {}
    using LanguageModel::forward;
    at::Tensor forward(std::span<const SequenceStep> steps) const override {
      masks.push_back(steps[0].num_masks);
      return FakeLanguageModel::forward(steps);
    }
    mutable std::vector<int64_t> masks;
  } model;
  Engine engine = borrowing_engine(model, {.pass_tokens = 4});
  const TokenIds draft{1, 2, 3};
  Sequence sequence = sequence_of(engine, random_ids(1, 9), 64);
  engine.run({.sequence = &sequence, .draft = draft, .num_masks = 2});
  EXPECT_EQ(model.pass_sizes, (std::vector<int64_t>{4, 4, 4}));
  EXPECT_EQ(model.masks, (std::vector<int64_t>{0, 0, 2}));
  sequence.append(TokenIds{1});
  for (const int64_t wrong : {4, -1}) {
    EXPECT_THROW(engine.run({.sequence = &sequence, .draft = draft, .num_masks = wrong}), Error);
  }
  engine.run({.sequence = &sequence, .draft = draft, .num_masks = 3});
  EXPECT_EQ(model.masks.back(), 3);
}

TEST(Engine, AFailedPassLeavesWhatEarlierOnesCached) {
  class Dying : public FakeLanguageModel {
   public:
    Dying() : FakeLanguageModel({}) {}
    using LanguageModel::forward;
    at::Tensor forward(std::span<const SequenceStep> steps) const override {
      if (num_passes == 1 && !revived) throw Error("out of memory");
      return FakeLanguageModel::forward(steps);
    }
    bool revived = false;
  } model;
  Engine engine = borrowing_engine(model, {.pass_tokens = 4});
  const TokenIds prompt = random_ids(1, 9);
  Sequence sequence = sequence_of(engine, prompt, 64);
  EXPECT_THROW(engine.run({.sequence = &sequence}), Error);
  EXPECT_EQ(sequence.num_cached(), 4);
  model.revived = true;
  EXPECT_TRUE(at::equal(*engine.run({.sequence = &sequence}).logits, in_one_pass(prompt, {})));
}

TEST(Engine, RefusesWrongUse) {
  const FakeLanguageModel model({});
  expect_user_error([&] { borrowing_engine(model, {.pass_tokens = 0}); }, {"pass", "0"});
  Engine engine = borrowing_engine(model);
  Sequence empty = engine.make_sequence(8), sequence = sequence_of(engine, TokenIds{1}, 8);
  EXPECT_THROW(engine.run({.sequence = &empty}), Error);
  EXPECT_THROW(
      engine.run(std::vector<EngineRequest>{{.sequence = &sequence}, {.sequence = &sequence}}),
      Error);
  engine.run({.sequence = &sequence});
  bool refused = false;
  std::thread([&] {
    sequence.append(TokenIds{2});
    try {
      engine.run({.sequence = &sequence});
    } catch (const Error&) {
      refused = true;
    }
  }).join();
  EXPECT_TRUE(refused) << "another thread";
  EXPECT_EQ(engine.make_sequence(1 << 20).capacity(), model.max_positions());
}

}  // namespace
}  // namespace predgen

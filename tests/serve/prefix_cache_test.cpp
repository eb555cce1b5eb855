#include "serve/prefix_cache.h"

#include <gtest/gtest.h>

#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/logits_in_passes.h"
#include "tests/fakes/small_models.h"

namespace predgen::serve {
namespace {

struct Shelf {
  explicit Shelf(int64_t max_cached, bool keeps_state = false)
      : model({.keeps_state = keeps_state}), kept(engine, engine_lock, 64, max_cached) {}

  /// Runs these tokens, and keeps them; returns how many were cached already.
  int64_t run(const TokenIds& tokens, const std::string& client = "me") {
    Sequence sequence = kept.take(client, tokens);
    const int64_t cached = sequence.num_cached();
    const TokenSpan taken = sequence.tokens();
    EXPECT_TRUE(std::ranges::equal(taken, tokens));
    const EngineResult result = engine.run({.sequence = &sequence});
    Sequence fresh = sequence_of(engine, tokens, 64);
    EXPECT_TRUE(at::equal(*result.logits, *engine.run({.sequence = &fresh}).logits));
    sequence.append(TokenIds{9});
    kept.keep(client, std::move(sequence));
    return cached;
  }

  FakeLanguageModel model;
  EngineLock engine_lock;
  Engine engine = borrowing_engine(model);
  PrefixCache kept;
};

TEST(PrefixCache, TheLongestCommonPrefixIsCached) {
  for (const bool keeps_state : {false, true}) {
    Shelf shelf(8, keeps_state);
    EXPECT_EQ(shelf.run({1, 2, 3}), 0);
    EXPECT_EQ(shelf.run({1, 2, 4, 5, 6}), 2);
    EXPECT_EQ(shelf.run({1, 2, 3, 9, 7}), 3);  // the first one and its answer, which is not cached
    EXPECT_EQ(shelf.run({1, 2, 4, 5, 8}), 4);
    EXPECT_EQ(shelf.run({7, 2, 3}), 0);
  }
}

/// The longest prefix is of no use where the state cannot return into it.
TEST(PrefixCache, AStateIsTakenFromWhereItCanReturn) {
  Shelf shelf(8, /*keeps_state=*/true);
  shelf.run({1, 2, 3, 4, 5, 6, 7});
  shelf.run({1, 2, 3});
  EXPECT_EQ(shelf.run({1, 2, 3, 4, 8}), 3);
}

TEST(PrefixCache, AConversationIsNotTakenFromAnother) {
  Shelf shelf(8);
  shelf.run({1, 2, 3, 4});
  EXPECT_EQ(shelf.run({1, 2, 5, 6}), 2);
  EXPECT_EQ(shelf.run({1, 2, 3, 4, 9, 7}), 4);
  EXPECT_EQ(shelf.run({1, 2, 5, 6, 9, 7}), 4);
}

TEST(PrefixCache, TheOldestGoesAndItsMemoryToo) {
  Shelf shelf(2);
  shelf.run({1, 1, 1});
  shelf.run({2, 2, 2});
  const int64_t held = shelf.engine.pool().num_allocated();
  for (TokenId id = 3; id < 20; ++id) shelf.run({id, id, id});
  EXPECT_EQ(shelf.engine.pool().num_allocated(), held);
  EXPECT_EQ(shelf.run({19, 19, 19, 9, 4}), 3);
  EXPECT_EQ(shelf.run({1, 1, 1, 9, 4}), 0);
  Shelf none(0);
  none.run({1, 2, 3});
  EXPECT_EQ(none.run({1, 2, 3, 9, 4}), 0);
  EXPECT_EQ(none.engine.pool().num_allocated(), 0);
}

TEST(PrefixCache, AreEachClientsOwn) {
  Shelf shelf(8);
  shelf.run({1, 2, 3, 4});
  EXPECT_EQ(shelf.run({1, 2, 3, 4}, "you"), 0);
  EXPECT_EQ(shelf.run({1, 2, 3, 4, 9, 7}, "you"), 4);
  EXPECT_EQ(shelf.run({1, 2, 3, 4, 9, 8}), 4);  // mine is still there
}

TEST(PrefixCache, GiveTheirMemoryBack) {
  Shelf shelf(8);
  EXPECT_FALSE(shelf.kept.drop_all());
  shelf.run({1, 2, 3, 4});
  EXPECT_TRUE(shelf.kept.drop_all());
  EXPECT_EQ(shelf.engine.pool().num_allocated(), 0);
  EXPECT_EQ(shelf.run({1, 2, 3, 4}), 0);
}

TEST(PrefixCache, WhatALongerOneHoldsIsKeptOnce) {
  Shelf shelf(2);
  shelf.run({5, 5, 5});
  shelf.run({1, 2});
  shelf.run({1, 2, 9, 3});     // goes on from the second
  shelf.run({1, 2, 9, 3, 9});  // and from that
  EXPECT_EQ(shelf.run({5, 5, 5, 9, 1}), 3);
}

/// Whoever waits for the pass would wait for the copies, too.
TEST(PrefixCache, ManyAnswersShareALongPromptWithoutACopy) {
  ModelConfig config = small_config();
  config.max_positions = 4096;
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  Engine engine = borrowing_engine(*model);
  EngineLock engine_lock;
  PrefixCache kept(engine, engine_lock, 4096, 32);
  const TokenIds prompt = some_tokens(3000);
  const auto with_end = [&](TokenId end) {
    TokenIds tokens = prompt;
    tokens.insert(tokens.end(), {end, TokenId{1}, end});
    return tokens;
  };
  Sequence first = kept.take("me", with_end(20));
  engine.run({.sequence = &first});
  kept.keep("me", std::move(first));
  const int64_t before = engine.pool().num_allocated();

  std::vector<Sequence> answers;
  std::vector<EngineRequest> requests;
  for (TokenId end = 21; end < 33; ++end) {
    answers.push_back(kept.take("me", with_end(end)));
    EXPECT_EQ(answers.back().num_cached(), 3000);
  }
  for (Sequence& answer : answers) requests.push_back({.sequence = &answer});
  const std::vector<EngineResult> results = engine.run(requests);
  EXPECT_EQ(engine.pool().num_copied(), 0);
  EXPECT_LE(engine.pool().num_allocated(), before + 12 * 256);
  Sequence alone = sequence_of(engine, with_end(32), 4096);
  EXPECT_TRUE(at::equal(*results.back().logits, *engine.run({.sequence = &alone}).logits));
}

}  // namespace
}  // namespace predgen::serve

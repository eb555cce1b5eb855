#include "runtime/engine/sequence.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

TokenIds ids_of(TokenSpan tokens) { return TokenIds(tokens.begin(), tokens.end()); }

struct Fixture {
  FakeLanguageModel model{{}};
  Engine engine = borrowing_engine(model);
  Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3, 4, 5}, 64);
};

TEST(Sequence, TheLastTokenIsAlwaysPending) {
  Fixture on;
  EXPECT_EQ(on.sequence.pending().size(), 5u);
  on.engine.run({.sequence = &on.sequence});
  EXPECT_EQ(on.sequence.num_cached(), 5);
  on.sequence.append(TokenIds{6});
  EXPECT_EQ(ids_of(on.sequence.pending()), TokenIds{6});
  on.sequence.truncate(4);
  EXPECT_EQ(ids_of(on.sequence.pending()), TokenIds{4});
  on.sequence.truncate(0);
  EXPECT_EQ(on.sequence.num_cached(), 0);
  EXPECT_THROW(on.sequence.truncate(1), Error);
}

TEST(Sequence, AnAcceptedDraftStaysCached) {
  Fixture on;
  on.engine.run({.sequence = &on.sequence, .draft = TokenIds{6, 7, 8}});
  on.sequence.append(TokenIds{6, 7, 9});  // two of the draft, and one of the model's own
  EXPECT_EQ(on.sequence.num_cached(), 7);
  EXPECT_EQ(ids_of(on.sequence.pending()), TokenIds{9});
  on.engine.run({.sequence = &on.sequence});
  EXPECT_EQ(on.model.pass_sizes, (std::vector<int64_t>{8, 1}));
}

/// As far as the text is the same, whatever a state has to run again.
TEST(Sequence, KeepsHiddenStatesOfWhatStays) {
  for (const bool keeps_state : {false, true}) {
    const FakeLanguageModel model({.keeps_state = keeps_state, .gives_hidden = true});
    Engine engine = borrowing_engine(model);
    Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3}, 64);
    /// Of all tokens in one pass.
    const auto expect_right = [&](int64_t length) {
      Sequence fresh = sequence_of(engine, sequence.tokens(), 64);
      engine.run({.sequence = &fresh});
      ASSERT_EQ(sequence.hidden_SE().size(0), length);
      EXPECT_TRUE(at::equal(sequence.hidden_SE(), fresh.hidden_SE().narrow(0, 0, length)));
    };
    EXPECT_FALSE(sequence.hidden_SE().defined());
    engine.run({.sequence = &sequence});
    expect_right(3);
    sequence.append(TokenIds{4});
    engine.run({.sequence = &sequence, .draft = TokenIds{5, 6, 7}});
    EXPECT_EQ(sequence.hidden_SE().size(0), 7);
    sequence.append(TokenIds{5, 9});  // one of the draft, and one of the model's own
    EXPECT_EQ(sequence.num_cached(), keeps_state ? 4 : 5);
    expect_right(5);
    const Sequence fork = sequence.fork();
    at::Tensor tree_GG = at::ones({3, 3}, at::kBool).tril();
    tree_GG[2][1] = false;  // 1, then 2 or 3
    engine.run({.sequence = &sequence, .draft = TokenIds{1, 2, 3}, .tree_GG = tree_GG});
    sequence.keep_path(std::vector<int64_t>{0, 2});
    sequence.append(TokenIds{1, 3, 8});
    expect_right(8);
    EXPECT_EQ(fork.hidden_SE().size(0), 5) << "and its own";
    sequence.replace(TokenIds{1, 2, 3, 4, 6, 6, 6});
    expect_right(4);
    engine.run({.sequence = &sequence});
    expect_right(7);
    sequence.truncate(3);
    expect_right(2);
  }
}

TEST(Sequence, ReplaceKeepsTheCommonBeginning) {
  Fixture on;
  on.engine.run({.sequence = &on.sequence, .draft = TokenIds{6, 7}});
  EXPECT_EQ(on.sequence.replace(TokenIds{1, 2, 3, 9, 9}), 3);
  EXPECT_EQ(ids_of(on.sequence.pending()), (TokenIds{9, 9}));
  EXPECT_EQ(on.sequence.replace(TokenIds{1, 2, 3}), 2) << "the last one runs again";
  EXPECT_EQ(on.sequence.replace(TokenIds{4}), 0);
  EXPECT_EQ(ids_of(on.sequence.tokens()), TokenIds{4});
}

struct StateFixture {
  FakeLanguageModel model{{.keeps_state = true}};
  Engine engine = borrowing_engine(model);
  Sequence sequence = sequence_of(engine, TokenIds{1, 2, 3, 4, 5}, 64);
};

TEST(Sequence, WhatAStateCannotReturnToIsPendingAgain) {
  StateFixture on;
  on.engine.run({.sequence = &on.sequence, .draft = TokenIds{6, 7, 8}});
  on.sequence.append(TokenIds{6, 7, 9});  // two of the draft, and one of the model's own
  EXPECT_EQ(ids_of(on.sequence.pending()), (TokenIds{6, 7, 9})) << "the state before the draft";
  on.engine.run({.sequence = &on.sequence, .draft = TokenIds{10, 11}});
  on.sequence.append(TokenIds{10, 11, 12});  // all of it
  EXPECT_EQ(ids_of(on.sequence.pending()), TokenIds{12});
  on.engine.run({.sequence = &on.sequence});
  EXPECT_EQ(on.model.pass_sizes, (std::vector<int64_t>{8, 5, 1}));
  EXPECT_EQ(on.sequence.num_kept_by(TokenIds{1, 2, 3, 4, 5, 30}), 5);
  EXPECT_EQ(on.sequence.num_kept_by(TokenIds{1, 2, 3, 4, 5}), 4) << "the last one runs again";
  EXPECT_EQ(on.sequence.num_kept_by(TokenIds{1, 2, 3, 30}), 0) << "no snapshot there";
  EXPECT_EQ(on.sequence.replace(TokenIds{1, 2, 3, 4, 5, 30}), 5);
  EXPECT_EQ(ids_of(on.sequence.pending()), TokenIds{30});
  on.engine.run({.sequence = &on.sequence});
}

/// A prompt that grows before its end: what has settled by then is not run a third time.
TEST(Sequence, AStateReturnsToWhereATextBeganToDiffer) {
  StateFixture on;
  const auto run = [&](const TokenIds& tokens) {
    const int64_t cached = on.sequence.replace(tokens);
    on.engine.run({.sequence = &on.sequence});
    return cached;
  };
  EXPECT_EQ(run({1, 2, 3, 28, 29, 30}), 0);
  EXPECT_EQ(run({1, 2, 3, 4, 5, 28, 29, 30}), 3);
  EXPECT_EQ(run({1, 2, 3, 4, 5, 6, 7, 28, 29, 30}), 3) << "only now 5 are settled";
  EXPECT_EQ(run({1, 2, 3, 4, 5, 6, 7, 8, 28, 29, 30}), 5);
  EXPECT_EQ(run({1, 2, 9, 28, 29, 30}), 0);
}

TEST(Sequence, APathOfATreeIsPendingAgain) {
  StateFixture on;
  const at::Tensor tree_GG = at::tensor({1, 0, 0, 1}, at::kLong).view({2, 2}).to(at::kBool);
  on.engine.run({.sequence = &on.sequence, .draft = TokenIds{6, 7}, .tree_GG = tree_GG});
  on.sequence.keep_path(std::vector<int64_t>{1});
  on.sequence.append(TokenIds{7, 8});
  EXPECT_EQ(ids_of(on.sequence.pending()), (TokenIds{7, 8}));
  on.engine.run({.sequence = &on.sequence});
  EXPECT_EQ(on.sequence.num_cached(), 7);
}

/// The comparisons elsewhere would see a state of other tokens.
TEST(Sequence, AWrongStateIsNoticed) {
  const FakeLanguageModel model({.keeps_state = true});
  KvPool pool(model.kv_layout());
  const auto state = pool.make_state(8);
  const TokenIds tokens{1, 2};
  model.forward({.state = state.get(), .tokens = tokens});
  state->append(0, at::full({1, 1, 1, 1}, 3, at::kLong), at::full({1, 1, 1, 1}, 2, at::kLong));
  state->commit(1, {{1, {{at::scalar_tensor(5, at::kLong)}}}});
  EXPECT_THROW(model.forward({.state = state.get(), .tokens = tokens}), Error);
}

TEST(Sequence, AForkIsWithoutTheDraft) {
  Fixture on, plain;
  on.engine.run({.sequence = &on.sequence, .draft = TokenIds{6, 7, 8}});
  EXPECT_THROW(on.sequence.pending(), Error);
  EXPECT_THROW(on.engine.run({.sequence = &on.sequence}), Error);
  Sequence fork = on.sequence.fork();
  fork.append(TokenIds{9, 10});
  plain.sequence.append(TokenIds{9, 10});
  EXPECT_TRUE(at::equal(*on.engine.run({.sequence = &fork}).logits,
                        *plain.engine.run({.sequence = &plain.sequence}).logits));
  on.sequence.append(TokenIds{6, 7, 9});  // what the fork did is none of its business
  EXPECT_EQ(on.sequence.num_cached(), 7);
}

TEST(Sequence, AForkGoesItsOwnWay) {
  Fixture on;
  on.engine.run({.sequence = &on.sequence});
  on.sequence.append(TokenIds{6});
  Sequence fork = on.sequence.fork();
  fork.append(TokenIds{7, 8});
  const at::Tensor judged = *on.engine.run({.sequence = &fork}).logits;
  EXPECT_EQ(on.model.pass_sizes.back(), 3);
  on.sequence.append(TokenIds{9});
  const at::Tensor own = *on.engine.run({.sequence = &on.sequence}).logits;
  // The fake model reads its history back from the cache: each has its own.
  Fixture plain;
  plain.sequence.append(TokenIds{6, 7, 8});
  EXPECT_TRUE(at::equal(judged, *plain.engine.run({.sequence = &plain.sequence}).logits));
  plain.sequence.replace(TokenIds{1, 2, 3, 4, 5, 6, 9});
  EXPECT_TRUE(at::equal(own, *plain.engine.run({.sequence = &plain.sequence}).logits));
}

}  // namespace
}  // namespace predgen

#include <gtest/gtest.h>

#include "runtime/speculate/make_verifier.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

// Ranks of ids 0..4 in every row: 0 is the likeliest, then 1 and 2 tie, then 3, 4.
at::Tensor rows(int64_t count) { return at::tensor({5.f, 4.f, 4.f, 2.f, 1.f}).repeat({count, 1}); }

/// These verifiers look at nothing but the draft and run no passes.
int64_t verify(const VerifierConfig& config, const Draft& draft) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model);
  const Sequence sequence = engine.make_sequence(8);
  const Verification verification = make_verifier(config)->verify(
      draft, {.prompt_text = "", .sequence = sequence, .engine = engine, .generation = {}});
  EXPECT_EQ(verification.num_forward_passes, 0);
  EXPECT_EQ(model.num_passes, 0);
  return verification.num_accepted;
}

int64_t accepted(const VerifierConfig& config, const TokenIds& tokens, int64_t first_sentence,
                 const TokenIds& stops = {}) {
  const auto count = static_cast<int64_t>(tokens.size());
  return verify(config, {.tokens = tokens,
                         .logits_DV = rows(count),
                         .first_sentence = first_sentence,
                         .stop_tokens = stops});
}

TEST(GreedyVerifier, AcceptsTheLongestRunOfArgmaxes) {
  EXPECT_EQ(accepted({}, {0, 0, 0}, 3), 3);
  EXPECT_EQ(accepted({}, {0, 1, 0}, 3), 1);
  EXPECT_EQ(accepted({}, {3, 0, 0}, 3), 0);
}

TEST(GreedyVerifier, TakesTheLowestIdAmongEquals) {
  const at::Tensor tie = at::tensor({1.f, 2.f, 2.f}).view({1, 3});
  const TokenIds low{1}, high{2};
  EXPECT_EQ(verify({}, {.tokens = low, .logits_DV = tie, .stop_tokens = {}}), 1);
  EXPECT_EQ(verify({}, {.tokens = high, .logits_DV = tie, .stop_tokens = {}}), 0);
}

TEST(TopKVerifier, CountsStrictlyGreaterLogits) {
  // One logit is greater than those of 1 and 2, three are greater than that of 3.
  EXPECT_EQ(accepted({.name = "topk", .top_k = 2}, {1, 2, 0, 3}, 4), 3);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 3}, {3}, 1), 0);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 4}, {3, 4}, 2), 1);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 1}, {0, 1}, 2), 1);
}

TEST(TopKVerifier, IsGreedyAfterTheFirstSentence) {
  EXPECT_EQ(accepted({.name = "topk"}, {1, 1, 1, 0}, 2), 2);
  EXPECT_EQ(accepted({.name = "topk"}, {1, 1, 0, 0, 1}, 2), 4);
}

TEST(TopKVerifier, TakesStopTokensOnlyAsArgmax) {
  EXPECT_EQ(accepted({.name = "topk"}, {1, 2}, 2, {2}), 1);
  EXPECT_EQ(accepted({.name = "topk"}, {1, 0}, 2, {0}), 2);
}

TEST(MakeVerifier, NamesItsList) {
  expect_user_error([] { make_verifier({.name = "magic"}); }, {"magic", "greedy", "topk"});
  expect_user_error([] { make_verifier({.name = "topk", .top_k = 0}); }, {"top-k", "0"});
}

}  // namespace
}  // namespace predgen

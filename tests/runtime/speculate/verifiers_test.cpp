#include <gtest/gtest.h>

#include "runtime/speculate/make_verifier.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

// Ranks of ids 0..4 in every row: 0 is the likeliest, then 1 and 2 tie, then 3, 4.
at::Tensor rows(int64_t count) { return at::tensor({5.f, 4.f, 4.f, 2.f, 1.f}).repeat({count, 1}); }

int64_t accepted(const VerifierConfig& config, const TokenIds& tokens, int64_t first_sentence,
                 const TokenIds& stops = {}) {
  const auto count = static_cast<int64_t>(tokens.size());
  return make_verifier(config)->count_accepted({.tokens = tokens,
                                                .logits_DV = rows(count),
                                                .first_sentence = first_sentence,
                                                .stop_tokens = stops,
                                                .prompt_text = ""});
}

TEST(GreedyVerifier, AcceptsTheLongestRunOfArgmaxes) {
  EXPECT_EQ(accepted({}, {0, 0, 0}, 3), 3);
  EXPECT_EQ(accepted({}, {0, 1, 0}, 3), 1);
  EXPECT_EQ(accepted({}, {3, 0, 0}, 3), 0);
}

TEST(GreedyVerifier, TakesTheLowestIdAmongEquals) {
  const at::Tensor tie = at::tensor({1.f, 2.f, 2.f}).view({1, 3});
  const auto verifier = make_verifier({});
  const TokenIds low{1}, high{2};
  EXPECT_EQ(verifier->count_accepted(
                {.tokens = low, .logits_DV = tie, .stop_tokens = {}, .prompt_text = ""}),
            1);
  EXPECT_EQ(verifier->count_accepted(
                {.tokens = high, .logits_DV = tie, .stop_tokens = {}, .prompt_text = ""}),
            0);
}

TEST(TopKVerifier, CountsStrictlyGreaterLogits) {
  // One logit is greater than those of 1 and 2, three are greater than that of 3.
  EXPECT_EQ(accepted({.name = "topk", .top_k = 2}, {1, 2, 0, 3}, 4), 3);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 3}, {3}, 1), 0);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 4}, {3, 4}, 2), 1);
  EXPECT_EQ(accepted({.name = "topk", .top_k = 1}, {0, 1}, 2), 1);
}

TEST(TopKVerifier, IsGreedyBehindTheFirstSentence) {
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

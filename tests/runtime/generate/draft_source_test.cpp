#include "runtime/generate/draft_source.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

using TokenPaths = std::vector<TokenIds>;

TokenPaths propose(NgramSource& source, const TokenIds& tokens, int64_t answer_begin,
                   const std::vector<TokenIds>& drafts, int64_t max_tokens,
                   const TokenTree& tree = {}) {
  return source.propose(tokens, drafts, {.answer_begin = answer_begin}, {tree, max_tokens}).value();
}

TEST(NgramSource, LooksInDraftsThenInTheConversation) {
  NgramSource source;
  const std::vector<TokenIds> drafts{{1, 2, 3, 4}, {8, 2, 9}};
  // The longest match comes first: of 2 tokens in the older draft, then of 1 in the newer one.
  EXPECT_EQ(propose(source, TokenIds{7, 8, 2}, 1, drafts, 9), (TokenPaths{{9}, {3, 4}}));
  // In the conversation itself one token is no match, two are.
  EXPECT_TRUE(propose(source, TokenIds{5, 6, 7, 6}, 0, {}, 9).empty());
  EXPECT_EQ(propose(source, TokenIds{5, 6, 7, 8, 5, 6}, 0, {}, 3), (TokenPaths{{7, 8, 5}}));
  EXPECT_TRUE(propose(source, TokenIds{5}, 0, {}, 9).empty());
}

TEST(NgramSource, TakesOneTokenForAnotherWhereNothingMatches) {
  NgramSource source;
  const std::vector<TokenIds> drafts{{1, 2, 3, 4}};
  EXPECT_EQ(propose(source, TokenIds{7, 1, 9}, 1, drafts, 9), (TokenPaths{{3, 4}}));
  EXPECT_TRUE(propose(source, TokenIds{7, 1, 2, 3, 4, 9}, 1, drafts, 9).empty());
}

TEST(NgramSource, KnowsWhatThePassHasAlready) {
  NgramSource source;
  const std::vector<TokenIds> drafts{{1, 2, 3, 4, 5}, {1, 6, 7, 8, 9}};
  TokenTree tree;
  tree.add(TokenIds{2, 3});
  EXPECT_EQ(propose(source, TokenIds{1}, 0, drafts, 3, tree), (TokenPaths{{2, 3, 4}, {6}}));
}

TEST(NgramSource, ProposesEveryWayOnceAndNotTooMany) {
  NgramSource source(2);
  const std::vector<TokenIds> drafts{{1, 2, 3}, {1, 2}, {1, 4, 5}, {1, 6}};
  EXPECT_EQ(propose(source, TokenIds{1}, 0, drafts, 1), (TokenPaths{{2}, {4}}));
}

}  // namespace
}  // namespace predgen

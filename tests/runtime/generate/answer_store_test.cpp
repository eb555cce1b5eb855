#include "runtime/generate/answer_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "runtime/generate/draft_source.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(AnswerStore, GoesOnBehindTheLongestMatch) {
  const AnswerStore store({{1, 2, 3, 4, 5}, {9, 2, 3, 6, 7}});
  EXPECT_THAT(store.find(TokenIds{1, 2, 3}, 1, 8), ElementsAre(TokenIds{4, 5}));
  EXPECT_THAT(store.find(TokenIds{9, 2, 3}, 1, 8), ElementsAre(TokenIds{6, 7}));
  EXPECT_THAT(store.find(TokenIds{9, 2, 3}, 4, 8), ElementsAre(TokenIds{6, 7}, TokenIds{4, 5}));
  EXPECT_THAT(store.find(TokenIds{9, 2, 3}, 4, 1), ElementsAre(TokenIds{6}, TokenIds{4}));
  EXPECT_THAT(store.find(TokenIds{8}, 4, 8), IsEmpty());
  EXPECT_THAT(store.find(TokenIds{5}, 4, 8), IsEmpty());  // another answer begins behind it
  EXPECT_THAT(store.find({}, 4, 8), IsEmpty());
  EXPECT_THAT(AnswerStore({}).find(TokenIds{1}, 4, 8), IsEmpty());
}

TEST(AnswerStore, OfEqualMatchesWhatWasSaidMostOftenComesFirst) {
  const AnswerStore store({{1, 5, 6}, {1, 7, 8}, {1, 7, 8}, {1, 9}});
  const std::vector<TokenIds> ways = store.find(TokenIds{3, 1}, 4, 8);
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways.front(), (TokenIds{7, 8}));
  EXPECT_EQ(store.find(TokenIds{3, 1}, 1, 8).size(), 1u);
}

/// By trying every place.
size_t longest_match(const std::vector<TokenIds>& answers, const TokenIds& tokens, TokenId next) {
  size_t best = 0;
  for (const TokenIds& answer : answers) {
    for (size_t i = 1; i < answer.size(); ++i) {
      if (answer[i] != next) continue;
      size_t length = 0;
      while (length < std::min({size_t{8}, i, tokens.size()}) &&
             answer[i - 1 - length] == tokens[tokens.size() - 1 - length]) {
        ++length;
      }
      best = std::max(best, length);
    }
  }
  return best;
}

TEST(AnswerStore, FindsWhatTryingEveryPlaceFinds) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, "answers");
    const auto some = [&](uint64_t least) {
      TokenIds ids(least + random.below(12));
      for (TokenId& id : ids) id = static_cast<TokenId>(random.below(4));
      return ids;
    };
    std::vector<TokenIds> answers;
    for (uint64_t i = random.below(6); i > 0; --i) answers.push_back(some(0));
    const TokenIds tokens = some(1);
    size_t longest = 0;
    for (TokenId next = 0; next < 4; ++next) {
      longest = std::max(longest, longest_match(answers, tokens, next));
    }
    const std::vector<TokenIds> ways = AnswerStore(answers).find(tokens, 100, 5);
    ASSERT_EQ(ways.empty(), longest == 0) << seed;
    for (const TokenIds& way : ways) {
      EXPECT_LE(way.size(), 5u);
      EXPECT_GE(longest_match(answers, tokens, way.front()), 1u) << seed;
    }
    if (!ways.empty()) {
      EXPECT_EQ(longest_match(answers, tokens, ways.front().front()), longest) << seed;
    }
  }
}

TEST(AnswerSource, LeavesRoomForMoreThanOneWay) {
  const auto store = std::make_shared<AnswerStore>(
      std::vector<TokenIds>{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 3, 4, 5, 6, 7, 8}});
  AnswerSource source(store);
  TokenTree tree;
  const auto ways = *source.propose(TokenIds{1}, {}, {}, {tree, 8});
  ASSERT_EQ(ways.size(), 2u);
  for (const TokenIds& way : ways) EXPECT_EQ(way.size(), 4u);
  tree.add(TokenIds{9, 9, 9, 9, 9, 9});
  EXPECT_EQ(source.propose(TokenIds{1}, {}, {}, {tree, 8})->front().size(), 2u);
  tree.add(TokenIds{8, 8});
  EXPECT_THAT(*source.propose(TokenIds{1}, {}, {}, {tree, 8}), IsEmpty());
}

}  // namespace
}  // namespace predgen

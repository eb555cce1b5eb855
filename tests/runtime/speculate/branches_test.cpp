#include "runtime/speculate/branches.h"

#include <gtest/gtest.h>

#include <utility>

#include "runtime/generate/sampler.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

using Candidates = std::vector<TokenIds>;

TEST(CandidatePool, KeepsTheNewestAndNoneTwice) {
  CandidatePool pool(2);
  pool.add({1, 2});
  pool.add({3});
  EXPECT_EQ(pool.newest_first(), (Candidates{{3}, {1, 2}}));
  pool.add({1});  // the beginning of one that is there
  EXPECT_EQ(pool.newest_first(), (Candidates{{1, 2}, {3}}));
  pool.add({3, 4});
  EXPECT_EQ(pool.newest_first(), (Candidates{{3, 4}, {1, 2}}));
  pool.add({5});
  EXPECT_EQ(pool.newest_first(), (Candidates{{5}, {3, 4}}));
  pool.clear();
  EXPECT_TRUE(pool.newest_first().empty());
}

const GenerationConfig kBranchConfig{.max_new_tokens = 6, .stop_tokens = {3}, .answer_begin = 3};
IsWhole never() {
  return [](TokenSpan) { return false; };
}

struct Answered {
  Answered() {
    while (sequence.size() < 7)
      sequence.append(argmax_rows(*engine.run({.sequence = &sequence}).logits));
  }
  FakeLanguageModel model{{.surprise = 1}};
  Engine engine = borrowing_engine(model);
  Sequence sequence = sequence_of(engine, TokenIds{4, 5, 6}, 64);
  TokenSpan answer() const { return sequence.tokens().subspan(3); }
};

TEST(Branches, AreTheAnswersAfterTheLeastCertainTokens) {
  Answered on;
  on.model.num_passes = 0;
  Branches grown(2);
  const int64_t num_tokens = grown.grow(on.engine, on.sequence, kBranchConfig, never);
  const std::vector<TokenIds>& branches = grown.answers();
  ASSERT_EQ(branches.size(), 2u);
  int64_t num_new = 0;
  std::vector<float> margins;
  for (const TokenIds& branch : branches) {
    const auto place = std::ranges::mismatch(branch, on.answer()).in1 - branch.begin();
    ASSERT_LT(place, 4);
    num_new += std::ssize(branch) - place;
    // From the first other token on it is what the model says, and that token is its second choice.
    Sequence check = sequence_of(on.engine, TokenIds{4, 5, 6}, 64);
    check.append(TokenSpan(branch).first(static_cast<size_t>(place)));
    const auto [values, ids] = (*on.engine.run({.sequence = &check}).logits)[0].topk(2);
    EXPECT_EQ(branch[static_cast<size_t>(place)], ids[1].item<int64_t>());
    margins.push_back((values[0] - values[1]).item<float>());
    check.append(TokenSpan(branch).subspan(static_cast<size_t>(place), 1));
    while (check.size() < 9 && check.tokens().back() != 3) {
      check.append(argmax_rows(*on.engine.run({.sequence = &check}).logits));
    }
    EXPECT_TRUE(std::ranges::equal(branch, check.tokens().subspan(3)));
  }
  EXPECT_LE(margins[0], margins[1]);
  EXPECT_EQ(num_tokens, num_new);
  EXPECT_EQ(on.sequence.size(), 7);  // as it was
}

TEST(Branches, GrowTogetherAndStopWhenAsked) {
  Answered on;
  const auto passes = [&](const GenerationConfig& config, const FollowAnswer& follow) {
    const int64_t before = on.model.num_passes;
    Branches(4).grow(on.engine, on.sequence, config, follow);
    return on.model.num_passes - before;
  };
  GenerationConfig config{.max_new_tokens = 6, .stop_tokens = {}, .answer_begin = 3};
  // One looks for the places, one for each token until all have six, whatever their number.
  EXPECT_GE(passes(config, never), 1 + 2);
  EXPECT_LE(passes(config, never), 1 + 5);
  EXPECT_EQ(passes(config, [] { return [](TokenSpan) { return true; }; }), 1);
  int64_t steps = 2;
  config.should_stop = [&] { return --steps < 0; };
  EXPECT_EQ(passes(config, never), 1 + 2);
  Branches none(0);
  EXPECT_EQ(none.grow(on.engine, on.sequence, kBranchConfig, never), 0);
  EXPECT_TRUE(none.answers().empty());
}

TEST(Branches, GoOnWhereTheyWereStopped) {
  Answered on;
  GenerationConfig config{.max_new_tokens = 9, .stop_tokens = {}, .answer_begin = 3};
  on.model.num_passes = 0;
  Branches at_once(3);
  const int64_t num_tokens = at_once.grow(on.engine, on.sequence, config, never);
  const int64_t num_passes = std::exchange(on.model.num_passes, 0);
  Branches bit_by_bit(3);
  int64_t steps = 0, calls = 0, grown = 0;
  config.should_stop = [&] { return --steps < 0; };
  for (bool done = false; !done; ++calls) {
    ASSERT_LT(calls, 20);
    steps = 2;
    const int64_t more = bit_by_bit.grow(on.engine, on.sequence, config, never);
    grown += more;
    done = more == 0;
  }
  EXPECT_EQ(bit_by_bit.answers(), at_once.answers());
  EXPECT_EQ(grown, num_tokens);
  EXPECT_EQ(on.model.num_passes, num_passes);
  EXPECT_GT(calls, 3);
  bit_by_bit.clear();
  EXPECT_TRUE(bit_by_bit.answers().empty());
  steps = 20;
  EXPECT_EQ(bit_by_bit.grow(on.engine, on.sequence, config, never), num_tokens);
}

TEST(Branches, AreReadOnce) {
  Answered on;
  int64_t num_read = 0, num_tokens = 0;
  Branches branches(3);
  branches.grow(on.engine, on.sequence,
                {.max_new_tokens = 30, .stop_tokens = {}, .answer_begin = 3}, [&]() -> IsWhole {
                  return [&](TokenSpan tokens) {
                    num_read += std::ssize(tokens);
                    return false;
                  };
                });
  for (const TokenIds& answer : branches.answers()) num_tokens += std::ssize(answer);
  EXPECT_EQ(num_tokens, 3 * 30);
  EXPECT_EQ(num_read, num_tokens);
}

}  // namespace
}  // namespace predgen

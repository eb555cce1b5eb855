#include "runtime/speculate/branches.h"

#include <gtest/gtest.h>

#include "runtime/generate/sampler.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"

namespace predgen {
namespace {

const GenerationConfig kConfig{.max_new_tokens = 6, .stop_tokens = {3}, .answer_begin = 3};
bool never(TokenSpan) { return false; }

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
  const auto branches = grow_branches(on.engine, on.sequence, 2, kConfig, never);
  ASSERT_EQ(branches.size(), 2u);
  std::vector<float> margins;
  for (const TokenIds& branch : branches) {
    const auto place = std::ranges::mismatch(branch, on.answer()).in1 - branch.begin();
    ASSERT_LT(place, 4);
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
  EXPECT_EQ(on.sequence.size(), 7);  // as it was
}

TEST(Branches, GrowTogetherAndStopWhenAsked) {
  Answered on;
  const auto passes = [&](const GenerationConfig& config, auto is_whole) {
    const int64_t before = on.model.num_passes;
    grow_branches(on.engine, on.sequence, 4, config, is_whole);
    return on.model.num_passes - before;
  };
  GenerationConfig config{.max_new_tokens = 6, .stop_tokens = {}, .answer_begin = 3};
  // One looks for the places, one for each token until all have six, whatever their number.
  EXPECT_GE(passes(config, never), 1 + 2);
  EXPECT_LE(passes(config, never), 1 + 5);
  EXPECT_EQ(passes(config, [](TokenSpan) { return true; }), 1);
  int64_t steps = 2;
  config.should_stop = [&] { return --steps < 0; };
  EXPECT_EQ(passes(config, never), 1 + 2);
  EXPECT_TRUE(grow_branches(on.engine, on.sequence, 0, kConfig, never).empty());
}

}  // namespace
}  // namespace predgen

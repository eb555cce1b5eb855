#include "train/watch/prompt_answers.h"

#include <gmock/gmock.h>

#include <array>

#include "core/random.h"
#include "runtime/generate/jacobi_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/run_ranks.h"
#include "train/distributed/single_process_communicator.h"

namespace predgen::train {
namespace {

const GenerationConfig kLimits{.max_new_tokens = 40, .stop_tokens = {0, 5}};

/// So many prompts of unlike lengths around `length`, each for greedy and for Jacobi decoding.
class Prompts {
 public:
  Prompts(size_t count, size_t length) {
    for (size_t i = 0; i < count; ++i) {
      TokenIds& tokens = tokens_.emplace_back(length + i);
      Random random(i, "prompt");
      for (TokenId& token : tokens) token = static_cast<TokenId>(random.below(31));
    }
    for (const TokenIds& tokens : tokens_) {
      for (const int64_t window : {1, 8}) prompts_.push_back({tokens, window});
    }
  }
  Prompts(const Prompts&) = delete;
  Prompts& operator=(const Prompts&) = delete;
  std::span<const PromptToAnswer> all() const { return prompts_; }

 private:
  std::vector<TokenIds> tokens_;
  std::vector<PromptToAnswer> prompts_;
};

PromptAnswer answer_alone(const PromptToAnswer& asked) {
  const FakeLanguageModel model({});
  Engine engine = borrowing_engine(model, {.pass_tokens = 4096});
  Sequence sequence = sequence_of(engine, asked.prompt, 4096);
  JacobiGenerator generator(engine, asked.window);
  const GenerationResult result = generator.generate(sequence, {}, kLimits, nullptr);
  const TokenSpan tokens = sequence.tokens().subspan(asked.prompt.size());
  return {{tokens.begin(), tokens.end()}, result.num_forward_passes};
}

void expect_answers(std::span<const PromptToAnswer> prompts,
                    const std::vector<PromptAnswer>& answers) {
  ASSERT_EQ(answers.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    const PromptAnswer expected = answer_alone(prompts[i]);
    EXPECT_EQ(answers[i].tokens, expected.tokens) << i;
    EXPECT_EQ(answers[i].num_passes, expected.num_passes) << i;
  }
}

TEST(AnswerPrompts, AnswersAreThoseOfOnePromptAtATime) {
  const Prompts prompts(9, 3);
  const FakeLanguageModel model({});
  SingleProcessCommunicator communicator;
  std::vector<int64_t> told;
  const auto answers = answer_prompts(model, prompts.all(), kLimits, communicator,
                                      [&](int64_t count) { told.push_back(count); });
  expect_answers(prompts.all(), answers);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(told.back(), 18);
  EXPECT_LE(model.num_passes, kLimits.max_new_tokens);  // all at once
  EXPECT_TRUE(answer_prompts(model, {}, kLimits, communicator, [](int64_t) {}).empty());
}

TEST(AnswerPrompts, LetsInAsManyAsTheCachesMayHold) {
  const Prompts prompts(3, 3500);
  const FakeLanguageModel model({});
  SingleProcessCommunicator communicator;
  const auto answers = answer_prompts(model, prompts.all(), kLimits, communicator, [](int64_t) {});
  expect_answers(prompts.all(), answers);
  // Two fit, and each of the others runs its prompt when an answer ends.
  EXPECT_EQ(model.pass_sizes.front(), 2 * 3500 + 7);
  EXPECT_THAT(std::vector(model.pass_sizes.begin() + 1, model.pass_sizes.end()),
              testing::Each(testing::Lt(2 * 3500)));
}

TEST(AnswerPrompts, RanksRunAsManyPasses) {
  const std::array shares{Prompts(4, 3), Prompts(1, 9), Prompts(0, 0)};
  std::vector<int64_t> num_passes(3);
  const std::vector<std::string> errors = run_ranks(3, [&](Communicator& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    const FakeLanguageModel model({});
    const auto answers =
        answer_prompts(model, shares[rank].all(), kLimits, communicator, [](int64_t) {});
    expect_answers(shares[rank].all(), answers);
    num_passes[rank] = model.num_passes;
  });
  EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
  EXPECT_GT(num_passes[0], 0);
  EXPECT_THAT(num_passes, testing::Each(num_passes[0]));
}

}  // namespace
}  // namespace predgen::train

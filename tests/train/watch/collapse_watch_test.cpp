#include "train/watch/collapse_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <mutex>

#include "core/files.h"
#include "core/random.h"
#include "runtime/generate/jacobi_generator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/run_ranks.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "tests/fakes/temporary_folder.h"
#include "train/distributed/communicator.h"

namespace predgen::train {
namespace {

double agreement(const TokenIds& a, const TokenIds& b) {
  EXPECT_EQ(text_agreement(a, b), text_agreement(b, a));
  return text_agreement(a, b);
}

TEST(TextAgreement, CountsTheFewestEdits) {
  EXPECT_EQ(agreement({1, 2, 3, 4}, {1, 2, 3, 4}), 1.0);
  EXPECT_EQ(agreement({1, 2, 3, 4}, {1, 9, 3, 4}), 0.75);  // replaced
  EXPECT_EQ(agreement({1, 2, 3, 4}, {2, 3, 4}), 0.75);     // what follows is not lost
  EXPECT_EQ(agreement({1, 2, 3, 4, 5}, {1, 3, 4, 9, 5}), 0.6);
  EXPECT_EQ(agreement({1, 2}, {3, 4}), 0.0);
  EXPECT_EQ(agreement({1, 2}, {}), 0.0);
  EXPECT_EQ(agreement({}, {}), 1.0);
}

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

using Scalars = std::map<std::string, double>;
using Next = std::function<TokenId(TokenSpan)>;

/// 12 tokens without a repetition, then the end. It depends on the place alone: one pass guesses
/// all.
TokenId healthy(TokenSpan history) {
  const auto place = static_cast<TokenId>(history.size()) - 3;  // prompts have three tokens
  return place == 11 ? FakeTokenizer::kEnd : 'a' + place;
}
TokenId repeating(TokenSpan) { return 'a'; }
TokenId silent(TokenSpan) { return FakeTokenizer::kEnd; }

class CollapseWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto writer = data::create_dataset(folder_ / "data", {{"of", "the watch"}}, {});
    for (int64_t i = 0; i < 7; ++i) writer->append(small_record(i));
    writer->finish(Json::object());
    records_ = data::open_dataset(folder_ / "data");
    config_.output = folder_ / "run";
    config_.watch.records = 5;
    config_.watch.max_new_tokens = 20;
    config_.watch.block_size = 4;
    make_folder(config_.output);
  }

  /// A watch of a model that goes on like this.
  Scalars watch(const Next& next, int64_t step, int64_t resumed_step) {
    const FakeLanguageModel model({.vocab_size = 260, .next = next});
    SingleProcessCommunicator communicator;
    CollapseWatch watch(config_, model, at::kCPU, *records_, tokenizer_, communicator,
                        resumed_step);
    return watch.run(step);
  }

  const TemporaryFolder folder_;
  const FakeTokenizer tokenizer_;
  TrainConfig config_;
  std::unique_ptr<data::DatasetReader> records_;
};

TEST_F(CollapseWatchTest, SaysHowTheModelAnswers) {
  const Scalars scalars = watch(healthy, 0, 0);
  EXPECT_EQ(scalars.at("watch/repetition"), 0.0);
  EXPECT_EQ(scalars.at("watch/answer_tokens"), 12.0);
  EXPECT_EQ(scalars.at("watch/jacobi_agreement"), 1.0);
  EXPECT_EQ(scalars.at("watch/start_agreement"), 1.0);
  EXPECT_EQ(scalars.at("watch/collapsed"), 0.0);
  EXPECT_GT(scalars.at("watch/tokens_per_pass"), 1.5);
  EXPECT_LE(scalars.at("watch/tokens_per_pass"), 4.0);  // the window
  const Json line = Json::parse(read_file(config_.output / "watch.jsonl"));
  EXPECT_EQ(line.at("answers").size(), 5u);
  EXPECT_EQ(line.at("answers")[0].at("text"), "abcdefghijk");
  EXPECT_EQ(line.at("prompts").size(), 5u);
}

TEST_F(CollapseWatchTest, WarnsWhenAnswersRepeatThemselves) {
  EXPECT_EQ(watch(healthy, 0, 0).at("watch/collapsed"), 0.0);
  const Scalars scalars = watch(repeating, 10, 0);
  EXPECT_EQ(scalars.at("watch/repetition"), 1.0);
  EXPECT_EQ(scalars.at("watch/collapsed"), 1.0);
  EXPECT_NEAR(scalars.at("watch/start_agreement"), 0.05, 1e-12);  // one token of twenty
}

TEST_F(CollapseWatchTest, WarnsWhenAnswersBecomeEmpty) {
  EXPECT_EQ(watch(healthy, 0, 0).at("watch/collapsed"), 0.0);
  EXPECT_EQ(watch(silent, 10, 0).at("watch/collapsed"), 1.0);
}

TEST_F(CollapseWatchTest, PromptsWithoutAnAnswerAreWatchedAsWell) {
  const auto writer = data::create_dataset(folder_ / "prompts", {{"of", "the watch"}}, {});
  for (int64_t i = 0; i < 5; ++i) {
    data::Record record = small_record(i);
    record.tokens.resize(static_cast<size_t>(record.prompt_length));
    record.loss_mask.assign(record.tokens.size(), 0);
    record.blocks.clear();
    writer->append(record);
  }
  writer->finish(Json::object());
  records_ = data::open_dataset(folder_ / "prompts");
  EXPECT_EQ(watch(healthy, 0, 0).at("watch/collapsed"), 0.0);
  EXPECT_EQ(watch(silent, 10, 0).at("watch/collapsed"), 1.0);
}

TEST_F(CollapseWatchTest, WhatTheModelDidFromTheStartIsNoCollapse) {
  EXPECT_EQ(watch(repeating, 0, 0).at("watch/collapsed"), 0.0);  // random weights
  EXPECT_EQ(watch(repeating, 5, 0).at("watch/collapsed"), 0.0);
  EXPECT_EQ(watch(healthy, 10, 5).at("watch/collapsed"), 0.0);     // it has learned to speak ..
  EXPECT_EQ(watch(repeating, 15, 10).at("watch/collapsed"), 1.0);  // .. and forgets
}

TEST_F(CollapseWatchTest, AResumedRunForgetsWhatCameLater) {
  watch(repeating, 0, 0);
  watch(healthy, 10, 0);
  // The checkpoint of step 5 is from before the model could speak.
  EXPECT_EQ(watch(repeating, 10, 5).at("watch/collapsed"), 0.0);
}

TEST_F(CollapseWatchTest, AResumedRunWithOtherPromptsStartsAgain) {
  EXPECT_EQ(watch(healthy, 0, 0).at("watch/start_agreement"), 1.0);
  config_.watch.every = 7;  // the same answers, more often
  EXPECT_NEAR(watch(repeating, 1, 0).at("watch/start_agreement"), 0.05, 1e-12);
  config_.watch.max_new_tokens = 6;
  const Scalars shorter = watch(repeating, 2, 1);
  EXPECT_EQ(shorter.at("watch/start_agreement"), 1.0);
  EXPECT_EQ(shorter.at("watch/collapsed"), 0.0);  // nothing is known of these prompts
  EXPECT_EQ(watch(healthy, 3, 2).at("watch/collapsed"), 0.0);
  config_.watch.records = 3;
  EXPECT_EQ(watch(repeating, 4, 3).at("watch/collapsed"), 0.0);
  // Back to the first ones, of which the file still knows.
  config_.watch.records = 5;
  config_.watch.max_new_tokens = 20;
  EXPECT_EQ(watch(healthy, 5, 4).at("watch/start_agreement"), 1.0);
  EXPECT_EQ(watch(repeating, 6, 5).at("watch/collapsed"), 1.0);
  int64_t with_prompts = 0;
  read_metrics(config_.output / "watch.jsonl",
               [&](const Json& line) { with_prompts += line.contains("prompts"); });
  EXPECT_EQ(with_prompts, 3);
}

TEST_F(CollapseWatchTest, RanksShareThePrompts) {
  const auto run = [&](int world_size) {
    TrainConfig config = config_;
    config.output = folder_ / fmt::format("ranks-{}", world_size);
    make_folder(config.output);
    Scalars found;
    const std::vector<std::string> errors = run_ranks(world_size, [&](Communicator& communicator) {
      const auto model = small_model();
      CollapseWatch watch(config, *model, at::kCPU, *records_, tokenizer_, communicator, 0);
      EXPECT_TRUE(watch.is_first());
      const Scalars scalars = watch.run(0);
      EXPECT_FALSE(watch.is_first());
      EXPECT_EQ(scalars.empty(), !communicator.is_main());
      if (communicator.is_main()) found = scalars;
    });
    EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
    return std::pair(found, read_file(config.output / "watch.jsonl"));
  };
  const auto one = run(1);
  EXPECT_EQ(one.first.at("watch/jacobi_agreement"), 1.0);  // the same text in float32
  for (const int world_size : {2, 3}) EXPECT_EQ(run(world_size), one) << world_size;
}

/// Each rank has a part of its layers: they meet in every pass.
class ShardedModel : public FakeLanguageModel {
 public:
  ShardedModel(const Next& next, Communicator& communicator)
      : FakeLanguageModel({.vocab_size = 260, .next = next}), communicator_(communicator) {}
  using LanguageModel::forward;
  at::Tensor forward(std::span<const SequenceStep> steps) const override {
    communicator_.barrier();
    return FakeLanguageModel::forward(steps);
  }

 private:
  Communicator& communicator_;
};

TEST_F(CollapseWatchTest, RanksWhoseModelsDifferStayTogether) {
  config_.base.shard = true;
  Scalars found;
  std::array<int64_t, 3> num_passes{};
  const std::vector<std::string> errors = run_ranks(3, [&](Communicator& communicator) {
    // An answer is as long as its rank decides: the second one's to the end, the third one's none.
    const std::array<Next, 3> kinds{healthy, repeating, silent};
    const auto rank = static_cast<size_t>(communicator.rank());
    const ShardedModel model(kinds[rank], communicator);
    CollapseWatch watch(config_, model, at::kCPU, *records_, tokenizer_, communicator, 0);
    const Scalars scalars = watch.run(0);
    if (communicator.is_main()) found = scalars;
    num_passes[rank] = model.num_passes;
  });
  EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
  // Of five prompts the ranks take two, two and one; all answers of a rank share its passes.
  EXPECT_DOUBLE_EQ(found.at("watch/answer_tokens"), (2 * 12 + 2 * 20 + 1) / 5.0);
  EXPECT_DOUBLE_EQ(found.at("watch/repetition"), 0.4);
  EXPECT_THAT(num_passes, testing::Each(20));  // of the longest answer, token by token
}

TEST_F(CollapseWatchTest, RunsAsTheTrainingComputes) {
  const auto model = small_model();  // float32 weights
  config_.compute = Compute::kBFloat16;
  SingleProcessCommunicator communicator;
  CollapseWatch watch(config_, *model, at::kCPU, *records_, tokenizer_, communicator, 0);
  const Scalars scalars = watch.run(0);
  EXPECT_EQ(scalars.at("watch/answer_tokens"), 20.0);
  EXPECT_GE(scalars.at("watch/tokens_per_pass"), 1.0);
}

TEST_F(CollapseWatchTest, NamesARecordThatCannotBeAnswered) {
  const FakeLanguageModel model({.vocab_size = 260, .max_positions = 3});
  SingleProcessCommunicator communicator;
  expect_user_error(
      [&] { CollapseWatch(config_, model, at::kCPU, *records_, tokenizer_, communicator, 0); },
      {"watch.dataset"});
}

}  // namespace
}  // namespace predgen::train

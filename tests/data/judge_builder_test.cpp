#include "data/judge_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "data/dataset_store.h"
#include "data/trajectory_config.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::data {
namespace {

/// "A." to up to two words, "B." to more.
TokenId next_token(TokenSpan history) {
  const auto user = std::ranges::find(history.rbegin(), history.rend(), FakeTokenizer::kUser);
  const auto end = std::find(user.base(), history.end(), FakeTokenizer::kEnd);
  const int64_t num_spaces = std::count(user.base(), end, ' ');
  switch (history.back()) {
    case FakeTokenizer::kAssistant:
      return num_spaces < 2 ? 'A' : 'B';
    case '.':
      return FakeTokenizer::kEnd;
    default:
      return '.';
  }
}

struct Build {
  TemporaryFolder folder;
  FakeTokenizer tokenizer{{"yes", "no"}};
  FakeLanguageModel model{{.vocab_size = tokenizer.vocab_size(), .next = next_token}};
  JudgeBuildConfig config;

  Build() {
    write_file(folder / "chats.jsonl",
               R"({"conversation_id": "c", "conversation": [)"
               R"({"role": "user", "content": "one two three four"},)"
               R"({"role": "assistant", "content": "Five."}]})"
               "\n"
               R"({"conversation_id": "short", "conversation": [)"
               R"({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho."}]})");
    config.sources = {(folder / "chats.jsonl").string()};
    config.output = folder / "judge";
  }
  Json run() {
    Engine engine = borrowing_engine(model);
    return build_judge_dataset(config, "m", tokenizer, engine, {});
  }
};

TEST(JudgeBuilder, AsksWhetherTheFirstSentenceSurvives) {
  Build build;
  const Json counters = build.run().at("counters");
  EXPECT_EQ(counters.at("rounds"), 1);   // there is nothing to cut in "Hi"
  EXPECT_EQ(counters.at("prompts"), 4);  // three cuts and the whole
  EXPECT_EQ(counters.at("questions").dump(), R"({"yes":2,"no":4})");
  const auto dataset = open_dataset(build.config.output);
  ASSERT_EQ(dataset->size(), 4) << "as many of both";
  int64_t num_fitting = 0;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    const Record record = dataset->read(i);
    EXPECT_EQ(record.conversation_id, "c");
    EXPECT_EQ(std::ranges::count(record.loss_mask, 1), 2) << "the reply and the stop token";
    const std::string text = build.tokenizer.decode(record.tokens, true);
    const bool fits = text.ends_with("<assistant>yes<end>");
    EXPECT_TRUE(fits || text.ends_with("<assistant>no<end>")) << text;
    num_fitting += fits;
    const bool answer_to_few = text.find("Partial Answer: A.") != std::string::npos;
    const bool few = text.find("Partial Prompt: one two\n") != std::string::npos;
    EXPECT_EQ(fits, answer_to_few == few) << text;
  }
  EXPECT_EQ(num_fitting, 2);
}

TEST(JudgeBuilder, IsThereAlready) {
  Build build;
  build.run();
  const int64_t passes = build.model.num_passes;
  build.run();
  EXPECT_EQ(build.model.num_passes, passes);
  build.config.cuts = 2;
  expect_user_error([&] { build.run(); }, {"cuts"});
}

TEST(JudgeBuilder, LeavesHeldOutPromptsAlone) {
  Build build;
  write_file(build.folder / "held_out.jsonl", R"({"prompt": "One two, three four!"})");
  build.config.held_out.files = {(build.folder / "held_out.jsonl").string()};
  expect_user_error([&] { build.run(); }, {"no prompt of two words"});
}

TEST(JudgeBuilder, NeedsRepliesOfOneToken) {
  Build build;
  build.tokenizer = FakeTokenizer();
  expect_user_error([&] { build.run(); }, {"\"yes\"", "several tokens"});
}

TEST(JudgeBuilder, NeedsBothReplies) {
  Build build;
  build.config.cuts = 1;
  build.config.rounds = 1;
  write_file(build.folder / "chats.jsonl",
             R"({"conversation_id": "c", "conversation": [{"role": "user", "content": "a b"},)"
             R"({"role": "assistant", "content": "c"}]})");
  expect_user_error([&] { build.run(); }, {"1 of 1", "raise rounds or cuts"});
}

TEST(JudgeBuilder, SharesItsFirstKeysWithTrajectories) {
  const std::string shared =
      "{model: m, chat_template: c, output: o, device: cpu, dtype: bf16, seed: 7, "
      "batch_tokens: 64, threads: 3, ";
  const auto check = [](const AnsweringConfig& config, ConfigReader& reader) {
    reader.finish();  // it knows all keys
    EXPECT_EQ(config.model, "m");
    EXPECT_EQ(config.chat_template, "c");
    EXPECT_EQ(config.output, "o");
    EXPECT_EQ(config.device + config.dtype, "cpubf16");
    EXPECT_EQ(config.seed, 7);
    EXPECT_EQ(config.batch_tokens, 64);
    EXPECT_EQ(config.threads, 3);
  };
  ConfigReader judge = ConfigReader::parse(shared + "sources: [s]}", "judge");
  check(JudgeBuildConfig::read(judge), judge);
  ConfigReader trajectories = ConfigReader::parse(shared + "dataset: d}", "trajectories");
  check(TrajectoryConfig::read(trajectories), trajectories);
  ConfigReader lacking = ConfigReader::parse("{sources: [s], model: m}", "lacking");
  JudgeBuildConfig::read(lacking);
  expect_user_error([&] { lacking.finish(); }, {"output", "missing"});
}

}  // namespace
}  // namespace predgen::data

#include "evaluate/eval_config.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::evaluate {
namespace {

EvalConfig load(const std::filesystem::path& file, const std::vector<std::string>& overrides = {}) {
  ConfigReader reader = ConfigReader::load(file, overrides);
  EvalConfig config = read_eval_config(reader);
  reader.finish();
  return config;
}

TEST(EvalConfig, ShippedFilesAreValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs/eval")) {
    EXPECT_NO_THROW(load(entry.path())) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(EvalConfig, ThePaperPresetIsThePapers) {
  const EvalConfig paper = load("configs/eval/paper.yaml");
  EXPECT_EQ(paper.turn.first_round_tokens, 30);
  EXPECT_EQ(paper.turn.later_round_tokens, 10);
  EXPECT_EQ(paper.turn.max_draft_tokens, paper.turn.max_new_tokens);  // the rounds alone limit it
  EXPECT_EQ(paper.turn.split_mode, SplitMode::kPaper);
  EXPECT_EQ(paper.characters_per_minute, 600);
  EXPECT_EQ(paper.system_prompt, "table3");
  const EvalConfig other = load("configs/eval/sgd_dev.yaml");
  EXPECT_EQ(other.turn.first_round_tokens, 0);  // up to the first sentence
  EXPECT_EQ(other.turn.later_round_tokens, 0);
  EXPECT_EQ(other.turn.max_draft_tokens, 64);
}

TEST(EvalConfig, VoicesHaveTheirOwnKeys) {
  const TemporaryFolder folder;
  write_file(folder / "eval.yaml", "model: m\noutput: o\nturns: {kind: prompts, file: p}\n");
  const auto speech = [&](const std::vector<std::string>& overrides) {
    return load(folder / "eval.yaml", overrides).voice;
  };
  const VoiceOptions hibari = speech({"speech.voice=hibari", "speech.hibari.speed=1.5"});
  EXPECT_EQ(hibari.kind, VoiceKind::kHibari);
  EXPECT_EQ(hibari.hibari.settings.speed, 1.5);
  EXPECT_EQ(speech({"speech.voice=hibari"}).hibari.settings.speed, 1);
  EXPECT_EQ(speech({"speech.voice=piper", "speech.piper.voice=joe"}).piper.voice, "joe");
  EXPECT_THROW(speech({"speech.voice=piper"}), UserError) << "which one?";
  EXPECT_THROW(speech({"speech.hibari.speed=9"}), UserError);
}

TEST(EvalConfig, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  write_file(folder / "eval.yaml", "model: m\noutput: o\nturns: {kind: prompts, file: p}\n");
  EXPECT_NO_THROW(load(folder / "eval.yaml"));
  const auto problem = [&](const std::string& override_text) -> std::string {
    try {
      load(folder / "eval.yaml", {override_text});
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(problem("generation.first_round_tokens=-1"),
              testing::HasSubstr("first_round_tokens"));
  EXPECT_THAT(problem("generation.later_round_token=1"), testing::HasSubstr("later_round_tokens"));
  EXPECT_THAT(problem("turns.shots=4"), testing::HasSubstr("shots"));  // prompts have none
  EXPECT_THAT(problem("turns.filters={languages: [English]}"), testing::HasSubstr("filters"));
  EXPECT_THAT(problem("methods=[cllm]"), testing::HasSubstr("adapter"));
  EXPECT_THAT(problem("methods=[best+draft_model]"), testing::HasSubstr("'draft_model'"));
  EXPECT_THAT(problem("clock.seconds_per_draft_pass=0"), testing::HasSubstr("draft_pass"));
  EXPECT_THAT(problem("clock.costs=[a6000]"), testing::HasSubstr("there is no cost 'a6000'"));
  EXPECT_THAT(problem("clock.costs=[h100,h100]"), testing::HasSubstr("named twice"));
  EXPECT_THAT(problem("clock.costs=[]"), testing::HasSubstr("at least one"));
  EXPECT_THAT(problem("input.end_of_turn_wait=-1"), testing::HasSubstr("end_of_turn_wait"));
  EXPECT_THAT(problem("input.end_of_turn_wait=10.5"), testing::HasSubstr("end_of_turn_wait"));
  EXPECT_THAT(problem("methods=[greedy+wait=x]"), testing::HasSubstr("0 to 10 seconds"));
  EXPECT_THAT(problem("workers=2"), testing::HasSubstr("wall clock"));
  EXPECT_THAT(problem("speech.same_device=true"), testing::HasSubstr("without a voice"));
  EXPECT_THAT(problem("models=[a]"), testing::HasSubstr("leave it out"));
}

TEST(EvalConfig, ATurnIsOverAtOnceUnlessItIsToldToWait) {
  const TemporaryFolder folder;
  write_file(folder / "eval.yaml", "model: m\noutput: o\nturns: {kind: prompts, file: p}\n");
  EXPECT_EQ(load(folder / "eval.yaml").end_of_turn_wait, 0);
  EXPECT_EQ(load(folder / "eval.yaml", {"input.end_of_turn_wait=0.8"}).end_of_turn_wait, 0.8);
}

TEST(EvalConfig, CostsAreNamedOrOneByCost) {
  const TemporaryFolder folder;
  write_file(folder / "eval.yaml", "output: o\nturns: {kind: prompts, file: p}\nmodels: [a, b]\n");
  const auto costs = [&](const std::vector<std::string>& overrides) {
    return load(folder / "eval.yaml", overrides).costs;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(costs({}), Names{"wall_clock"});
  EXPECT_EQ(costs({"clock.cost=table"}), Names{"given"});
  EXPECT_EQ(costs({"clock.prices=[h100]"}), Names{"h100"});  // as older files have it
  EXPECT_EQ(costs({"clock.cost=table", "clock.costs=[a5000,given]"}), (Names{"a5000", "given"}));
  EXPECT_THROW(costs({"clock.cost=measured", "clock.costs=[a5000]"}), UserError);
  EXPECT_THROW(costs({"clock.cost=table", "clock.costs=[wall_clock]"}), UserError);
  EXPECT_THROW(costs({"clock.kind=real", "clock.costs=[a5000]"}), UserError);
  EXPECT_EQ(load(folder / "eval.yaml").models.size(), 2u);
  EXPECT_THROW(costs({"adapter=x"}), UserError);  // of which model?
}

TEST(EvalConfig, ExamplesOfASetNeedAFile) {
  const TemporaryFolder folder;
  write_file(folder / "eval.yaml",
             "model: m\noutput: o\nturns: {kind: gsm8k, file: p, streams: prompt, shots: 4, "
             "shots_file: s}\n");
  const EvalConfig config = load(folder / "eval.yaml");
  EXPECT_EQ(config.turns.streams, Streams::kPrompt);
  EXPECT_EQ(config.turns.shots, 4);
  EXPECT_THROW(load(folder / "eval.yaml", {"turns.shots=0"}), UserError);
  EXPECT_THROW(load(folder / "eval.yaml", {"turns.shots_file="}), UserError);
  EXPECT_NO_THROW(load(folder / "eval.yaml", {"turns.shots=0", "turns.shots_file="}));
}

}  // namespace
}  // namespace predgen::evaluate

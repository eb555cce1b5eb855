#include <gtest/gtest.h>

#include "tests/evaluate/run_turns.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"

namespace predgen::evaluate {
namespace {

/// Whatever is said with a "b" in it is answered otherwise.
struct Trace : testing::Test {
  Trace() {
    config.methods = {"baseline", "greedy"};
    config.turn.split_mode = SplitMode::kPaper;  // a sentence ends with the token of its full stop
    turns.turns = {turn("kept", "h", 1, "h y", 2), turn("cut", "a", 1, "a b", 2),
                   turn("in flight", "c", 1, "c d", 1.03)};
  }

  static EvalTurn turn(const std::string& id, const std::string& heard, double at,
                       const std::string& said, double end) {
    std::vector<Transcript> transcripts(2);
    transcripts[0] = {.text = heard, .time = Seconds(at)};
    transcripts[1] = {.text = said, .time = Seconds(end), .is_final = true};
    return {.id = id, .history = {}, .prompt_text = said, .recorded = transcripts};
  }

  TokenId next(TokenSpan history) const {
    const auto assistant = std::ranges::find(history, FakeTokenizer::kAssistant);
    const std::string user = tokenizer.decode({history.begin(), assistant});
    const TokenIds answer = tokenizer.encode(
        user.find('b') == std::string::npos ? "Yes I can. Go!" : "Yes I well. Go!");
    const auto place = static_cast<size_t>(history.end() - assistant) - 1;
    return place < answer.size() ? answer[place] : FakeTokenizer::kEnd;
  }

  FakeTokenizer tokenizer{{"Yes", " I", " can", " well", ".", " Go", "!"}};
  EvalConfig config;
  RunCost cost{.costs = PassCosts::given(Seconds(0.020), Seconds(0.001))};
  TurnSet turns;
};

void expect_times(const TurnMetrics& metrics, double ttfs, double ttfs_paper, double audio) {
  EXPECT_NEAR(*metrics.ttfs, ttfs, 1e-9);
  EXPECT_NEAR(*metrics.ttfs_paper, ttfs_paper, 1e-9);
  EXPECT_NEAR(*metrics.audio_latency, audio, 1e-9);
}

// By hand, from the definitions: a pass takes 20 ms and 1 ms a token, a sentence's first sound
// 100 ms. A prompt is <user>, its letters, <end>, <assistant>.
TEST_F(Trace, OfThreeTurnsGivesThePublishedMetrics) {
  const FakeLanguageModel model(
      {.vocab_size = tokenizer.vocab_size(), .next = [&](TokenSpan h) { return next(h); }});
  Engine engine = borrowing_engine(model);
  const EvalRun run =
      run_methods(config, cost, {.tokenizer = tokenizer, .base = engine}, turns.turns);
  ASSERT_EQ(run.rows.size(), 6u);
  const auto metrics = [&](size_t i) -> const TurnMetrics& { return run.rows[i].result.metrics; };

  // The baseline: 6 tokens in 26 ms give "Yes", three passes of 21 ms the rest of the sentence.
  for (const size_t row : {0, 2, 4}) {
    expect_times(metrics(row), 0.089, 0.089, 0.189);
    EXPECT_EQ(metrics(row).nfe_to_first_sentence, 4);
    EXPECT_EQ(metrics(row).speculative_nfe, 0);
    EXPECT_EQ(metrics(row).total_nfe, 7);  // " Go", "!" and the end
  }

  // Kept: 4 tokens in 24 ms, then 3 x 21 ms: the draft is whole at 1.087 s, its sound at 1.187.
  // After 2 s one pass runs the 4 new tokens of the prompt and the 4 of the draft: 28 ms.
  expect_times(metrics(1), 0.028, 0.028, 0.028);
  EXPECT_EQ(metrics(1).nfe_to_first_sentence, 1);
  EXPECT_TRUE(metrics(1).first_sentence_kept);
  EXPECT_NEAR(*metrics(1).lead_time, 2 - 1.187, 1e-9);
  EXPECT_EQ(metrics(1).speculative_nfe, 4);
  EXPECT_EQ(metrics(1).total_nfe, 4 + 1 + 2);  // " Go" is the verification's own token
  EXPECT_EQ(metrics(1).spec_tokens_drafted, 4);
  EXPECT_EQ(metrics(1).spec_tokens_wasted, 0);

  // Cut: the same pass keeps "Yes I" and gives " well", another one of 21 ms the full stop.
  expect_times(metrics(3), 0.049, 0.049, 0.149);
  EXPECT_EQ(metrics(3).nfe_to_first_sentence, 2);
  EXPECT_FALSE(metrics(3).first_sentence_kept);
  EXPECT_EQ(metrics(3).spec_tokens_accepted, 2);
  EXPECT_EQ(metrics(3).spec_tokens_wasted, 2);

  // In flight: at 1.030 s the second pass runs, until 1.045. Then 4 tokens of the prompt and 2 of
  // the draft in 26 ms, and 21 ms for the full stop. No sound was prepared.
  expect_times(metrics(5), 0.015 + 0.047, 0.047, 0.015 + 0.047 + 0.1);
  EXPECT_EQ(metrics(5).nfe_to_first_sentence, 2);
  EXPECT_EQ(metrics(5).speculative_nfe, 2);
  EXPECT_EQ(metrics(5).spec_tokens_drafted, 2);
  EXPECT_EQ(*metrics(5).lead_time, 0);

  const Json greedy = report_of(config.methods, turns, run)["methods"]["greedy"];
  EXPECT_NEAR(greedy["ttfs"]["mean"].get<double>(), (0.028 + 0.049 + 0.062) / 3, 1e-9);
  EXPECT_NEAR(greedy["ttfs"]["p50"].get<double>(), 0.049, 1e-9);
  EXPECT_NEAR(greedy["nfe_paper"]["mean"].get<double>(), 5.0 / 3, 1e-9);
  EXPECT_NEAR(greedy["speedup"].get<double>(), 3 * 0.189 / (0.028 + 0.149 + 0.162), 1e-9);
}

// Voice and model take turns: the prepared sound holds the model up.
TEST_F(Trace, OnOneDeviceTheModelWaitsForTheVoice) {
  config.same_device = true;
  config.seconds_per_character = 0.01;
  turns.turns = {turn("kept", "h", 1, "h y", 1.1), turn("kept", "h", 1, "h y", 2)};
  const FakeLanguageModel model(
      {.vocab_size = tokenizer.vocab_size(), .next = [&](TokenSpan h) { return next(h); }});
  Engine engine = borrowing_engine(model);
  const EvalRun run =
      run_methods(config, cost, {.tokenizer = tokenizer, .base = engine}, turns.turns);
  // The sound of the draft, ten characters, is made from 1.087 to 1.287 s; then the verification.
  expect_times(run.rows[1].result.metrics, 0.187 + 0.028, 0.028, 0.187 + 0.028);
  expect_times(run.rows[3].result.metrics, 0.028, 0.028, 0.028);
}

}  // namespace
}  // namespace predgen::evaluate

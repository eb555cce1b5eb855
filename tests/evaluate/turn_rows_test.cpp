#include "evaluate/turn_rows.h"

#include <gtest/gtest.h>

namespace predgen::evaluate {
namespace {

using Kind = TurnEvent::Kind;

TurnResult turn_of(const std::vector<std::pair<Kind, std::string>>& events, bool is_kept = true) {
  TurnResult result;
  result.prompt_text = "twelve bytes";
  result.first_sentence = "Yes.";
  result.metrics.first_sentence_kept = is_kept;
  for (const auto& [kind, text] : events) result.events.push_back({Seconds(0), kind, text});
  return result;
}

TEST(HeardShare, IsOfWhatWasHeardWhenTheSentenceCameToStay) {
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"},
                                 {Kind::kDraft, "Yes. I"},
                                 {Kind::kTranscript, "twelve"},
                                 {Kind::kDraft, "Yes. We"}})),
            0.25);
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"},
                                 {Kind::kDraft, "Yes. I"},
                                 {Kind::kTranscript, "twelve"},
                                 {Kind::kDraft, "No. I"},
                                 {Kind::kTranscript, "twelve by"},
                                 {Kind::kDraft, " Yes. I"},
                                 {Kind::kTranscript, "twelve byt"},
                                 {Kind::kTranscript, "twelve bytes"},
                                 {Kind::kDraft, "Yes. I"}})),
            0.75);
  EXPECT_EQ(
      heard_share(turn_of({{Kind::kTranscript, "all of it and more"}, {Kind::kDraft, "Yes. I"}})),
      1.0);
}

TEST(HeardShare, IsNothingForWhatWasNotDraftedAhead) {
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"}})), std::nullopt);
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"}, {Kind::kDraft, "Yes"}})),
            std::nullopt);
  EXPECT_EQ(heard_share(turn_of({{Kind::kTranscript, "twe"}, {Kind::kDraft, "Yes."}}, false)),
            std::nullopt);  // thrown away, and found once more
}

TEST(TurnRows, WhetherAResultWasToldIsNotKnownWithoutSound) {
  TurnSet set;
  set.turns.resize(1);
  EvalRow row;
  row.tools.emplace().calls.push_back({.id = "", .name = "find", .arguments = "{}"});
  row.tools->is_right = true;
  row.result.text = "It is 20.";
  const auto told = [&] {
    EvalRun run;
    run.rows.push_back(row);
    return to_json(run, set)["rows"][0]["right_call_told"];
  };
  EXPECT_TRUE(told().is_null());
  row.result.metrics.audio_latency = 0.5;
  EXPECT_EQ(told(), false);
  row.result.metrics.result_audio_latency = 0.5;
  EXPECT_EQ(told(), true);
}

TEST(TurnRounds, CountsTheUsersTurns) {
  std::vector<EvalTurn> turns(4);
  turns[1].history = {{"user", "x"}, {"assistant", "y"}};
  turns[2].continues = turns[3].continues = true;
  EXPECT_EQ(round_of(turns, 0), 1);
  EXPECT_EQ(round_of(turns, 1), 2);
  EXPECT_EQ(round_of(turns, 3), 4);
  turns[1].right_answer = RightAnswer{AnswerKind::kLetter, "B"};  // its history are examples
  EXPECT_EQ(round_of(turns, 1), 1);
}

TEST(TurnRounds, WordsThatARecogniserTookBack) {
  const auto said = [](const std::vector<std::string>& texts) {
    std::vector<Transcript> recorded;
    for (const std::string& text : texts) recorded.push_back({.text = text});
    return revised_share(recorded);
  };
  EXPECT_EQ(said({}), std::nullopt);
  EXPECT_EQ(said({""}), 0.0);
  EXPECT_EQ(said({"I", "I want", "I want tea"}), 0.0);
  // "wand" and "to" are taken back, of I wand to, want tea.
  EXPECT_EQ(said({"I wand to", "I want tea"}), 0.4);
}

}  // namespace
}  // namespace predgen::evaluate

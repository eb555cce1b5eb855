#include "evaluate/turn_schedule.h"

#include <gtest/gtest.h>

#include "hear/transcripts/scheduled_source.h"

namespace predgen::evaluate {
namespace {

/// "2.000 a b stable", a line for each.
std::vector<std::string> lines_of(const std::vector<Transcript>& transcripts) {
  std::vector<std::string> lines;
  for (const Transcript& transcript : transcripts) {
    lines.push_back(fmt::format("{:.3f} {}{}{}", transcript.time.count(), transcript.text,
                                transcript.is_stable ? " stable" : "",
                                transcript.is_final ? " final" : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

EvalTurn typed(const std::string& prompt) {
  EvalTurn turn;
  turn.prompt_text = prompt;
  return turn;
}

EvalTurn recorded(const std::vector<std::pair<std::string, double>>& heard) {
  EvalTurn turn = typed(heard.back().first);
  for (const auto& [text, time] : heard) {
    turn.recorded.push_back({.text = text, .time = Seconds(time)});
  }
  turn.recorded.back().is_final = true;
  return turn;
}

Lines schedule(const EvalTurn& turn, const std::string& method, double wait = 0) {
  EvalConfig config;
  config.characters_per_minute = 60;  // one a second: words are further apart than a pause
  config.end_of_turn_wait = wait;
  return lines_of(turn_schedule(config, turn, parse_method(method), Seconds(0)));
}

TEST(TurnSchedule, WithoutAWaitNothingHasChanged) {
  const EvalTurn turn = typed("book a table");
  EvalConfig config;
  for (const char* method : {"baseline", "greedy", "preemptive", "greedy+wait=0"}) {
    const std::vector<Transcript> found =
        turn_schedule(config, turn, parse_method(method), Seconds(0.125));
    const std::vector<Transcript> expected =
        type_text(turn.prompt_text, config.characters_per_minute, Seconds(0.125));
    ASSERT_EQ(found.size(), expected.size()) << method;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].text, expected[i].text);
      EXPECT_EQ(found[i].time, expected[i].time);  // to the bit
      EXPECT_EQ(found[i].is_final, expected[i].is_final);
      EXPECT_FALSE(found[i].is_stable);
    }
  }
  const EvalTurn heard = recorded({{"book", 0}, {"book a", 3}, {"book it", 4}});
  const Lines as_recorded{"0.000 book", "3.000 book a", "4.000 book it final"};
  EXPECT_EQ(schedule(heard, "greedy"), as_recorded);
}

TEST(TurnSchedule, AllWordsStandWhileTheEndIsWaitedFor) {
  const Lines expected{"5.000 book", "7.000 book a", "8.000 book a b", "8.500 book a b final"};
  EXPECT_EQ(schedule(typed("book a b"), "greedy", 0.5), expected);
  EXPECT_EQ(schedule(typed("book a b"), "greedy+wait=0.5"), expected);
  EXPECT_EQ(schedule(typed("book a b"), "greedy+wait=0.5", 3), expected);
  const Lines heard{"0.000 book", "1.000 book it", "1.500 book it final"};
  EXPECT_EQ(schedule(recorded({{"book", 0}, {"book it", 1}}), "greedy", 0.5), heard);
}

TEST(TurnSchedule, WhoTypesPausesAfterTheLastWordOnly) {
  EXPECT_EQ(schedule(typed("a b"), "preemptive", 0.5),
            (Lines{"2.000 a", "3.000 a b", "3.200 a b stable", "3.500 a b final"}));
  // Not before the end is known.
  for (const double wait : {0.1, 0.2}) {
    EXPECT_EQ(schedule(typed("a b"), "preemptive", wait), schedule(typed("a b"), "greedy", wait));
  }
}

TEST(TurnSchedule, ARecordedTextThatStandsIsStable) {
  const EvalTurn turn = recorded({{"a", 0}, {"a b", 0.4}, {"a c", 2}, {"a c d", 2.3}});
  EXPECT_EQ(schedule(turn, "preemptive_tts"),
            (Lines{"0.000 a", "0.400 a b", "0.850 a b stable", "2.000 a c", "2.300 a c d final"}));
  // Behind the last word the voice is known to be silent.
  EXPECT_EQ(schedule(turn, "preemptive", 0.4).at(5), "2.500 a c d stable");
  EXPECT_EQ(schedule(turn, "preemptive", 0.2).size(), 6u);
}

/// Its last words are known 0.3 s after the voice, and the turn is over 0.1 s later.
EvalTurn heard_voice() {
  EvalTurn turn = recorded({{"a", 1}, {"a b", 2}, {"a c", 3}, {"a c", 3.1}});
  turn.voice = RecordedVoice{.said = "a c", .ended = Seconds(2.7)};
  return turn;
}

TEST(TurnSchedule, ARecordedEndStaysWhereItWas) {
  EXPECT_EQ(schedule(heard_voice(), "greedy"),
            (Lines{"1.000 a", "2.000 a b", "3.000 a c", "3.100 a c final"}));
  EvalConfig config;
  const Method method = parse_method("greedy");
  const auto found = turn_schedule(config, heard_voice(), method, Seconds(5));
  EXPECT_NEAR(end_of_turn_wait(config, heard_voice(), method, found, Seconds(5)), 0.4, 1e-9);
}

TEST(TurnSchedule, AWaitCountsFromTheEndOfTheVoiceButNotBeforeItsWords) {
  EXPECT_EQ(schedule(heard_voice(), "greedy+wait=0.8"),
            (Lines{"1.000 a", "2.000 a b", "3.000 a c", "3.500 a c final"}));
  EXPECT_EQ(schedule(heard_voice(), "greedy+wait=0.1"),
            (Lines{"1.000 a", "2.000 a b", "3.000 a c final"}));
}

TEST(TurnSchedule, WordsAreStableOnceTheVoiceIsSilent) {
  EXPECT_EQ(schedule(heard_voice(), "preemptive+wait=0.8"),
            (Lines{"1.000 a", "1.450 a stable", "2.000 a b", "2.450 a b stable", "3.000 a c",
                   "3.000 a c stable", "3.500 a c final"}));
}

}  // namespace
}  // namespace predgen::evaluate

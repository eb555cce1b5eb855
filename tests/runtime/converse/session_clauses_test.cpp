#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/stage.h"

// A voice that gets the first clause before the rest of its sentence.
namespace predgen {
namespace {

using testing::ElementsAre;

std::vector<std::string> texts(const FakeSpeaker::Timed& timed) {
  std::vector<std::string> all;
  for (const auto& [time, text] : timed) all.push_back(text);
  return all;
}

std::string with_clause(const std::string&) { return "Yes I can do it, sir, well. Go on!"; }

TEST(SessionClauses, AVoiceGetsTheClauseAsSoonAsItIsConfirmed) {
  for (const InputTimeWork work :
       {InputTimeWork::kCascade, InputTimeWork::kPreempt, InputTimeWork::kSpeculate}) {
    TurnMetrics whole;
    for (const bool speaks_clauses : {false, true}) {
      Stage stage({.work = work,
                   .split_mode = SplitMode::kNatural,
                   .answer = with_clause,
                   .speaks_clauses = speaks_clauses});
      const TurnResult result = stage.run({partial("a", 0.1), stable("a", 0.3), final_one("a", 3)});
      EXPECT_EQ(result.text, with_clause(""));
      EXPECT_EQ(result.first_sentence, "Yes I can do it, sir, well.");
      const TurnMetrics& metrics = result.metrics;
      const std::vector<std::string> said = texts(stage.speaker.all_said.back());
      if (!speaks_clauses) {
        EXPECT_THAT(said, ElementsAre("Yes I can do it, sir, well.", "Go on!"));
        EXPECT_EQ(metrics.first_words, metrics.ttfs);
        whole = metrics;
        continue;
      }
      EXPECT_THAT(said, ElementsAre("Yes I can do it,", "sir, well.", "Go on!"));
      EXPECT_EQ(metrics.ttfs, whole.ttfs);
      EXPECT_LE(*metrics.first_words, *metrics.ttfs);
      EXPECT_LE(*metrics.audio_latency, *whole.audio_latency);
      const bool is_ahead = work != InputTimeWork::kCascade;
      EXPECT_TRUE(is_ahead || *metrics.audio_latency < *whole.audio_latency);
      EXPECT_EQ(texts(stage.speaker.all_prepared.back()),
                std::vector<std::string>(is_ahead ? 1 : 0, "Yes I can do it,"));
    }
  }
}

TEST(SessionClauses, AnAnswerIsSaidFromItsClauseOn) {
  // Stopped between the clause and the end of its sentence.
  Stage stage({.work = InputTimeWork::kCascade,
               .split_mode = SplitMode::kNatural,
               .answer = with_clause,
               .speaks_clauses = true});
  std::stop_source stop;
  TurnObserver observer;
  std::string shown;
  observer.on_text = [&](const std::string& text) {
    shown += text;
    if (shown.ends_with("sir")) stop.request_stop();
  };
  ScheduledSource source({final_one("a", 0.1)});
  EXPECT_THROW(stage.session.run_turn(source, observer, stop.get_token()), Interrupted);
  EXPECT_EQ(stage.session.history().back().content, shown);
}

}  // namespace
}  // namespace predgen

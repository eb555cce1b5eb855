#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"
#include "tests/fakes/stage.h"

// Drafts that wait for a pause (the preset auto).
namespace predgen {
namespace {

/// Words, a pause behind the last of them, and the end `wait` after that. It begins at `time`.
std::vector<Transcript> spoken(double time, double wait) {
  return {partial("a", time + 0.1), partial("a b", time + 2), stable("a b", time + 4),
          final_one("a b", time + 4 + wait)};
}

/// When drafts were made, from the turn's beginning at `time`.
std::vector<double> drafted(const TurnResult& result, double time) {
  std::vector<double> times;
  for (const TurnEvent& event : result.events) {
    if (event.kind == TurnEvent::Kind::kDraft) times.push_back(event.time.count() - time);
  }
  return times;
}

constexpr double kLong = 1, kShort = 0.01;  // pauses: a first sentence and its sound take 0.33 s

TEST(SessionPauses, DraftsWaitForAPauseOnceThatWasSoonEnough) {
  Stage stage({.preset = "auto"});
  EXPECT_LT(drafted(stage.run(spoken(0, kLong)), 0).front(), 1);  // nothing is known yet
  const TurnResult waits = stage.run(spoken(10, kLong));
  EXPECT_THAT(drafted(waits, 10), testing::ElementsAre(testing::Gt(4)));
  EXPECT_TRUE(waits.metrics.ready_before_end);
  EXPECT_EQ(waits.metrics.nfe_to_first_sentence, 0);
  EXPECT_EQ(waits.text, "Yes I can. Go on!");
}

TEST(SessionPauses, AShortPauseOrAnUntoldOneEndsTheWaiting) {
  for (const bool is_told : {true, false}) {
    Stage stage({.preset = "auto"});
    stage.run(spoken(0, kLong));
    std::vector<Transcript> turn = spoken(10, is_told ? kShort : kLong);
    if (!is_told) turn.erase(turn.begin() + 2);
    EXPECT_THAT(drafted(stage.run(turn), 10), testing::Each(testing::Gt(4))) << is_told;
    EXPECT_LT(drafted(stage.run(spoken(20, kLong)), 20).front(), 1) << is_told;
  }
}

TEST(SessionPauses, APauseBehindOtherWordsIsNone) {
  Stage stage({.preset = "auto"});
  std::vector<Transcript> turn = spoken(0, kLong);
  turn.back().text = "a b c";
  stage.run(turn);
  EXPECT_LT(drafted(stage.run(spoken(10, kLong)), 10).front(), 1);
}

TEST(SessionPauses, WhoeverAsksForTheEndByTheWordsIsToldAllAlong) {
  Stage stage({.preset = "auto"});
  TurnObserver observer;
  observer.on_end_by_words = [](const std::string&, double) {};
  stage.run(spoken(0, kLong), observer);
  EXPECT_LT(drafted(stage.run(spoken(10, kLong), observer), 10).front(), 1);
}

TEST(SessionPauses, SoundTakesPartOfThePause) {
  for (const double delay : {0.1, 0.8}) {
    Stage stage({.preset = "auto", .speech_delay = delay});
    stage.run(spoken(0, kLong));
    const bool waits = drafted(stage.run(spoken(10, kLong)), 10).front() > 4;
    EXPECT_EQ(waits, delay < 0.5) << delay;
  }
}

/// Other words are expected from 0.15 s on until they come.
class PausingSource : public ScheduledSource {
 public:
  using ScheduledSource::ScheduledSource;
  bool expects_words(Seconds now) override { return now >= Seconds(0.15) && now < Seconds(0.6); }
};

TEST(SessionPauses, ADraftYieldsToWordsThatAreAboutToCome) {
  for (const bool yields : {false, true}) {
    Stage stage({.yields_to_words = yields});
    PausingSource source({partial("a", 0.1), partial("a b", 0.6), final_one("a b", 2)});
    const TurnResult result = stage.session.run_turn(source, {}).value();
    const std::vector<double> times = drafted(result, 0);
    ASSERT_EQ(times.size(), 2u);
    EXPECT_NEAR(times[0], 0.1 + (yields ? 2 : 4) * kPass, 1e-9) << "a pass that runs is not ended";
    EXPECT_GT(times[1], 0.6);
    EXPECT_EQ(result.text, "Yes I can. Go on!");
    EXPECT_TRUE(result.metrics.ready_before_end);
  }
}

TEST(SessionPauses, OtherAnswersAreMadeWhereTheirTokensAreCheap) {
  const auto drafted_tokens = [](const std::string& preset, const std::vector<double>& seconds) {
    Stage stage({.preset = preset, .costs = pass_table(seconds)});
    return stage.run(spoken(0, kLong)).metrics.spec_tokens_drafted;
  };
  const std::vector<double> cheap{1.0, 1.05}, dear{1.0, 1.5};
  EXPECT_EQ(drafted_tokens("auto", cheap), drafted_tokens("eager", cheap));
  EXPECT_EQ(drafted_tokens("auto", dear), drafted_tokens("default", dear));
  EXPECT_LT(drafted_tokens("default", dear), drafted_tokens("eager", dear));
}

/// Three to ten words, some with a pause behind them that is told after 0.2 s, and the end `wait`
/// after the last one.
std::vector<Transcript> random_turn(uint64_t seed, double begin, double wait) {
  Random random(seed, "turn");
  std::vector<Transcript> heard;
  std::string words;
  double time = begin;
  for (uint64_t left = 3 + random.below(8); left > 0; --left) {
    words += (words.empty() ? "" : " ") + std::string(1, static_cast<char>('a' + random.below(4)));
    heard.push_back(partial(words, time));
    const bool is_last = left == 1;
    const double gap = is_last ? wait : random.below(5) == 0 ? 0.7 : 0.1 + 0.3 * random.uniform();
    if (gap > 0.2) heard.push_back(stable(words, time + 0.2));
    time += gap;
  }
  heard.push_back(final_one(words, time));
  return heard;
}

/// Four answers with two openings, by the words.
std::string by_all_words(const std::string& user) {
  static const std::string kAnswers[] = {"Yes I can. Go on!", "Yes I well. Go!",
                                         "No well I can on.", "No well. Go on!"};
  uint64_t sum = 0;
  for (const char letter : user) sum = sum * 31 + static_cast<unsigned char>(letter);
  return kAnswers[sum % 4];
}

TEST(SessionPauses, AtWorstAnAnswerIsHardlyLaterThanOneBegunAtAPause) {
  // As on a CPU without a fast path for several tokens.
  const PassCosts costs = PassCosts::given(Seconds(0.01), Seconds(0.005));
  const auto latest = [&](const TalkSetup& setup, double wait) {
    Stage stage(setup);
    stage.engine.observe_passes(charge_passes(stage.clock, costs));
    std::vector<double> waits;
    for (uint64_t turn = 0; turn < 80; ++turn) {
      const TurnResult result =
          stage.run(random_turn(turn, 20.0 * static_cast<double>(turn), wait));
      waits.push_back(result.metrics.audio_latency.value());
    }
    std::ranges::sort(waits);
    return waits[waits.size() * 19 / 20];
  };
  for (const double wait : {0.0, 0.2, 0.5, 0.8}) {
    const double preemptive =
        latest({.work = InputTimeWork::kPreempt, .answer = by_all_words}, wait);
    for (const char* preset : {"default", "auto"}) {
      const double own = latest({.preset = preset, .answer = by_all_words, .costs = costs}, wait);
      EXPECT_LE(own, 1.05 * preemptive + 1e-9) << preset << " " << wait;
    }
  }
}

}  // namespace
}  // namespace predgen

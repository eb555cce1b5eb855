#include "runtime/converse/conversation.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.h"
#include "hear/transcripts/scheduled_source.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/playing_sink.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/told_conversation.h"

namespace predgen {
namespace {

constexpr int kSinkRate = 1000;

/// One user, and the sound of the answers.
struct Desk {
  explicit Desk(const std::optional<WakeRules>& wake = {})
      : turns({.wake = wake, .answers = &sink}, told, clock, stop.get_token()) {}

  void at(double seconds) {
    clock.set(seconds);
    turns.tick();
  }
  void end(const std::string& words) { turns.on_turn({.text = words}); }
  Transcript next() {
    const auto newest = turns.wait_newer(revision, clock);
    if (!newest) return {.text = "the end"};
    revision = newest->revision;
    return *newest;
  }
  /// Its answer is ten seconds of sound.
  std::stop_token answer(const std::string& words) {
    std::stop_token leaves = turns.begin_turn();
    end(words);
    EXPECT_EQ(next().text, words);
    sink.write(std::vector<float>(10 * kSinkRate));
    return leaves;
  }
  /// The answer to `question` is left for these words before anything of it was heard.
  void leave_unheard(const std::string& question, const std::string& words) {
    const std::stop_token leaves = answer(question);
    turns.on_words(words);
    at(0.5);
    EXPECT_TRUE(leaves.stop_requested());
    turns.ask_again();
    turns.begin_turn();
  }

  ManualClock clock;
  PlayingSink sink{clock, kSinkRate};
  std::stop_source stop;
  ToldConversation told;
  Conversation turns;
  int64_t revision = 0;
};

TEST(Conversation, AFalseAlarmLosesNoSampleOfTheAnswer) {
  Desk desk;
  const std::stop_token leaves = desk.answer("tell me a story");
  desk.at(1);
  EXPECT_EQ(desk.turns.state(), TurnTaking::State::kSpeaking);
  desk.turns.on_voice(true, Seconds(0));
  desk.at(1.25);
  EXPECT_EQ(desk.sink.num_played(), 1250) << "softer, it goes on";
  desk.turns.on_words("you");
  EXPECT_EQ(desk.sink.gain(), 0) << "at once";
  desk.at(1.5);
  EXPECT_EQ(desk.sink.num_played(), 1250);
  desk.turns.on_words("");
  EXPECT_EQ(desk.sink.gain(), 1);
  desk.at(2);
  EXPECT_EQ(desk.sink.num_played(), 1750) << "from where it was";
  EXPECT_FALSE(leaves.stop_requested());
}

TEST(Conversation, WhatIsNoTurnLeavesNoTranscript) {
  Desk desk;
  desk.answer("tell me a story");
  desk.turns.on_words("yeah");
  desk.end("yeah");
  desk.turns.on_words("what");
  desk.turns.on_lost({SoundError::Kind::kLost, "the recogniser is gone"});
  EXPECT_EQ(desk.turns.size(), 0u);
  desk.turns.end();
  EXPECT_EQ(desk.next().text, "the end");
}

TEST(Conversation, WithAWakePhraseOnlyWhatFollowsItIsHeard) {
  Desk desk(WakeRules{.phrase = "hey jarvis", .follow_up = Seconds(8)});
  desk.turns.on_voice(true, Seconds(0));
  desk.turns.on_words("it is late");
  EXPECT_EQ(desk.turns.state(), TurnTaking::State::kIdle);
  desk.end("it is late");
  desk.at(1);
  EXPECT_EQ(desk.turns.size(), 0u);
  EXPECT_TRUE(desk.told.lines.empty());
  desk.turns.on_words("Hey Jarvis, what");
  EXPECT_EQ(desk.next().text, "what");
  desk.at(1.1);
  desk.turns.on_words("Hey, Travis");
  EXPECT_EQ(desk.next().text, "") << "it was taken back";
  desk.end("Hey, Jarvis, what time is it?");
  EXPECT_EQ(desk.next().text, "what time is it?");
  desk.at(30);
  desk.turns.on_words("stop that");
  EXPECT_EQ(desk.turns.state(), TurnTaking::State::kInterrupted);
  desk.turns.on_words("");
  desk.end("");
  desk.turns.begin_turn();
  desk.at(37.9);
  desk.turns.on_voice(true, Seconds(37.9));
  desk.at(38.1);
  EXPECT_EQ(desk.told.lines, (std::vector<std::string>{"awake", "asleep"}));
  desk.turns.on_words("and tomorrow");
  desk.at(38.2);
  EXPECT_EQ(desk.next().text, "and tomorrow") << "it was begun in time";
  desk.end("and tomorrow");
  EXPECT_TRUE(desk.next().is_final);
}

TEST(Conversation, WhatWasNotAnsweredIsSaidAgainInFrontOfWhatFollows) {
  Desk desk;
  desk.leave_unheard("what is the capital", "of");
  EXPECT_EQ(desk.next().text, "what is the capital of");
  desk.end("of France");
  const Transcript whole = desk.next();
  EXPECT_EQ(whole.text, "what is the capital of France");
  EXPECT_TRUE(whole.is_final);
  desk.end("and Spain");
  EXPECT_EQ(desk.turns.latest(Seconds(9)).value().text, "and Spain");
}

TEST(Conversation, WhatWasNotAnsweredIsSaidAgainByItselfWhereNothingFollows) {
  Desk desk;
  desk.leave_unheard("what is it", "you");
  desk.at(0.6);
  desk.turns.on_words("");
  desk.at(0.7);
  Transcript again;
  while (!(again = desk.next()).is_final) continue;
  EXPECT_EQ(again.text, "what is it");
}

TEST(Conversation, WhatWasNotAnsweredIsNotSaidAgainTwiceBecauseMoreIsLost) {
  Desk desk;
  desk.leave_unheard("what is the capital", "of");
  desk.end("of France");
  desk.turns.on_lost({SoundError::Kind::kLost, "the recogniser is gone"});
  EXPECT_EQ(desk.next().text, "what is the capital of France");
  EXPECT_EQ(desk.turns.size(), 0u);
}

TEST(Conversation, WhatWasHeardOfATurnAtTheEndIsOne) {
  Desk desk;
  desk.turns.on_words("what is it");
  desk.turns.end();
  EXPECT_TRUE(desk.next().is_final);
  EXPECT_EQ(desk.next().text, "the end");
}

TEST(Conversation, ATypedTurnThatWaitedCountsFromWhenItWasBegun) {
  ManualClock clock;
  ToldConversation told;
  ScheduledSource lines({{.text = "one", .time = Seconds(0), .is_final = true},
                         {.text = "two", .time = Seconds(0), .is_final = true},
                         {.text = "th", .time = Seconds(20)},
                         {.text = "three", .time = Seconds(30), .is_final = true}});
  Conversation user({.asks = false, .typed = &lines}, told, clock, {});
  clock.set(2);
  user.begin_turn();
  EXPECT_EQ(user.wait_newer(0, clock)->time, Seconds(2));
  clock.set(5);  // the answer took its time
  user.begin_turn();
  const auto second = user.wait_newer(0, clock);
  EXPECT_EQ(second->text, "two");
  EXPECT_EQ(second->time, Seconds(5));
  user.begin_turn();
  EXPECT_EQ(user.wait_newer(second->revision, clock)->time, Seconds(20));
  clock.set(40);  // a draft was under way when the turn ended
  EXPECT_EQ(user.wait_newer(3, clock)->time, Seconds(30));
  EXPECT_FALSE(user.wait_newer(4, clock));
}

TEST(Conversation, ATypedTurnThatIsStoppedKeepsWhatWasShownOfItAndTheNextLineIsAnswered) {
  struct Stopping : ToldConversation {
    void on_event(const ConversationEvent& event) override {
      ToldConversation::on_event(event);
      if (std::holds_alternative<Said>(event)) std::exchange(on_said, [] {})();
    }
    std::function<void()> on_said;
  };
  Stage stage(TalkSetup{});
  ScheduledSource lines({final_one("one", 0), final_one("two", 0)});
  Stopping told;
  Conversation user({.asks = false, .typed = &lines}, told, stage.clock, {});
  told.on_said = [&] { user.stop_turn(); };
  EXPECT_TRUE(user.take_turn(stage.session));
  EXPECT_EQ(told.lines, (std::vector<std::string>{"final: one", "said: Yes", "broken off: Yes"}));
  EXPECT_TRUE(user.take_turn(stage.session));
  EXPECT_EQ(told.lines.back(), "answered: Yes I can. Go on!");
  EXPECT_FALSE(user.take_turn(stage.session)) << "nothing is asked again";
}

/// A turn is stopped, and the next one's final transcript comes at once, while a session that was
/// woken still waits for the engine lock.
TEST(Conversation, AStoppedTurnTakesNoFinalTranscript) {
  EngineLock engine_lock;
  ManualClock clock;
  ToldConversation told;
  Conversation user({.engine_lock = &engine_lock, .asks = false}, told, clock, {});
  std::promise<void> begun;
  auto turn = std::async(std::launch::async, [&] {
    const EngineLock::Hold hold(engine_lock);
    user.begin_turn();
    begun.set_value();
    return user.wait_newer(0, clock);
  });
  begun.get_future().wait();
  {
    const EngineLock::Hold hold(engine_lock);  // it rests
    user.hear("", "words");
    while (engine_lock.num_waiting() == 0) std::this_thread::yield();
    user.stop_turn();
    user.ask("words that end");
  }
  ASSERT_THROW(turn.get(), Interrupted);
  const EngineLock::Hold hold(engine_lock);
  user.begin_turn();
  EXPECT_TRUE(user.wait_newer(0, clock)->is_final) << "the next turn's";
}

TEST(Conversation, WhatComesWhileItsSessionWaitsForTheEngineLockIsTaken) {
  EngineLock engine_lock;
  ManualClock clock;
  ToldConversation told;
  Conversation user({.engine_lock = &engine_lock, .asks = false}, told, clock, {});
  std::promise<void> begun;
  auto turn = std::async(std::launch::async, [&] {
    const EngineLock::Hold hold(engine_lock);
    user.begin_turn();
    begun.set_value();
    return user.wait_newer(0, clock);
  });
  begun.get_future().wait();
  {
    const EngineLock::Hold hold(engine_lock);
    user.hear("", "one");
    while (engine_lock.num_waiting() == 0) std::this_thread::yield();
    user.hear("", "one two");
  }
  EXPECT_EQ(turn.get()->text, "one two");
}

}  // namespace
}  // namespace predgen

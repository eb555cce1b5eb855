#include "hear/turn_taking.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

using State = TurnTaking::State;

const TurnActions kNothing{};
const TurnActions kDucks{.sound = Loudness::kDucked};
const TurnActions kPauses{.sound = Loudness::kPaused};
const TurnActions kGoesOn{.sound = Loudness::kFull};
const TurnActions kForgets{.forgets = true};

Seconds at(double seconds) { return Seconds(seconds); }

/// An answer to "go" that is heard from second 1 on.
struct Speaking : TurnTaking {
  Speaking() {
    EXPECT_TRUE(on_end(at(0.5), "go").commits);
    EXPECT_EQ(on_taken(at(0.5)), kNothing);
    EXPECT_EQ(on_sound(at(1)), kNothing);
    EXPECT_EQ(state(), State::kSpeaking);
  }
};

TEST(TurnTaking, GoesFromOneStateToTheNext) {
  TurnTaking turn;
  EXPECT_EQ(turn.state(), State::kIdle);
  EXPECT_EQ(turn.on_voice(at(0), true), kNothing);
  EXPECT_EQ(turn.state(), State::kListening);
  EXPECT_EQ(turn.on_words(at(0.5), "what"), kNothing);
  turn.on_draft();
  EXPECT_EQ(turn.state(), State::kSpeculating);
  turn.on_voice(at(1), false);
  EXPECT_EQ(turn.on_end(at(1.5), "what is it"), (TurnActions{.commits = true}));
  EXPECT_EQ(turn.state(), State::kCommitted);
  turn.on_taken(at(1.5));
  EXPECT_EQ(turn.state(), State::kCommitted);
  turn.on_sound(at(1.8));
  EXPECT_EQ(turn.state(), State::kSpeaking);
  turn.on_words(at(2), "stop");
  EXPECT_EQ(turn.state(), State::kInterrupted);
  turn.tick(at(2.6));
  EXPECT_EQ(turn.state(), State::kListening);
  turn.on_silent();
  EXPECT_EQ(turn.state(), State::kListening) << "he speaks on";
}

TEST(TurnTaking, ACoughMakesTheAnswerSofterForAMoment) {
  Speaking turn;
  EXPECT_EQ(turn.on_voice(at(2), true), kDucks);
  EXPECT_EQ(turn.on_voice(at(2.2), false), kNothing);
  EXPECT_EQ(turn.on_voice(at(2.3), true), kNothing);
  EXPECT_EQ(turn.tick(at(2.59)), kNothing);
  EXPECT_EQ(turn.tick(at(2.61)), kGoesOn) << "however often he coughs";
  EXPECT_EQ(turn.on_voice(at(2.7), false), kNothing);
  EXPECT_EQ(turn.on_voice(at(2.8), true), kDucks);
  EXPECT_EQ(turn.state(), State::kSpeaking);
}

TEST(TurnTaking, AnAcknowledgementLetsItGoOn) {
  Speaking turn;
  turn.on_voice(at(2), true);
  EXPECT_EQ(turn.on_words(at(2.4), "Mhm."), kGoesOn);
  EXPECT_EQ(turn.on_voice(at(2.5), false), kNothing);
  EXPECT_EQ(turn.on_end(at(3), "Mhm."), kForgets) << "it is no turn";
  EXPECT_EQ(turn.state(), State::kSpeaking);
}

TEST(TurnTaking, WordsStopItAndEndItWhenTheyStay) {
  Speaking turn;
  turn.on_voice(at(2), true);
  EXPECT_EQ(turn.on_words(at(2.4), "okay"), kGoesOn);
  EXPECT_EQ(turn.on_words(at(2.8), "okay stop"), kPauses);
  EXPECT_EQ(turn.on_words(at(3.2), "okay stop that"), kNothing);
  EXPECT_EQ(turn.tick(at(3.29)), kNothing);
  EXPECT_EQ(turn.tick(at(3.31)), (TurnActions{.leaves = true}));
  EXPECT_FALSE(turn.is_answering());
  EXPECT_EQ(turn.on_silent(), kGoesOn) << "for the next answer";
  EXPECT_EQ(turn.on_end(at(4), "okay stop that"), (TurnActions{.commits = true}));
}

TEST(TurnTaking, WhoCannotPauseLeavesAtTheFirstWords) {
  TurnTaking turn({.until_left = Seconds(0)});
  turn.on_taken(at(0));
  EXPECT_FALSE(turn.on_words(at(1), "okay").leaves);
  EXPECT_TRUE(turn.on_words(at(2), "okay stop").leaves);
}

TEST(TurnTaking, ATurnThatIsOverEndsItAtOnce) {
  Speaking turn;
  EXPECT_EQ(turn.on_end(at(2), "stop"),
            (TurnActions{.sound = Loudness::kPaused, .leaves = true, .commits = true}));
  EXPECT_EQ(turn.state(), State::kCommitted);
  turn.on_silent();
  EXPECT_EQ(turn.state(), State::kCommitted) << "the next one waits to be taken";
}

TEST(TurnTaking, WordsThatAreTakenBackWereNone) {
  for (const char* instead : {"", "hm"}) {
    Speaking turn;
    EXPECT_EQ(turn.on_words(at(2), "you"), kPauses);
    EXPECT_EQ(turn.state(), State::kInterrupted);
    EXPECT_EQ(turn.on_words(at(2.4), instead), kGoesOn);
    EXPECT_EQ(turn.state(), State::kSpeaking);
    EXPECT_EQ(turn.tick(at(9)), kNothing);
  }
}

TEST(TurnTaking, ARecogniserThatDiesLetsItGoOn) {
  Speaking turn;
  turn.on_words(at(2), "stop");
  EXPECT_EQ(turn.on_lost(at(2.2)), (TurnActions{.sound = Loudness::kFull, .forgets = true}));
  turn.on_voice(at(3), true);
  EXPECT_EQ(turn.on_lost(at(3.2)), (TurnActions{.sound = Loudness::kFull, .forgets = true}));
  EXPECT_EQ(turn.state(), State::kSpeaking);
}

TEST(TurnTaking, AnAnswerThatNobodyHearsYetIsHeldBackInTheSameWay) {
  TurnTaking turn;
  turn.on_end(at(0), "go");
  turn.on_taken(at(0));
  EXPECT_EQ(turn.on_words(at(0.1), "to"), kPauses);
  EXPECT_EQ(turn.on_words(at(0.4), ""), kGoesOn);
  EXPECT_EQ(turn.on_words(at(0.5), "to sleep"), kPauses);
  EXPECT_EQ(turn.tick(at(1)), (TurnActions{.leaves = true}));
}

TEST(TurnTaking, WhoSpeaksOnBeforeHisTurnIsTakenInterruptsItsAnswer) {
  TurnTaking turn;
  turn.on_end(at(0), "go");
  EXPECT_EQ(turn.on_words(at(0.1), "to sleep"), kNothing);
  EXPECT_EQ(turn.on_taken(at(0.2)), kPauses);
  EXPECT_TRUE(turn.tick(at(0.71)).leaves);
}

TEST(TurnTaking, AfterTheAnswerAnAcknowledgementIsATurn) {
  Speaking turn;
  turn.on_voice(at(2), true);
  turn.on_words(at(2.4), "yeah");
  turn.on_silent();
  EXPECT_EQ(turn.on_end(at(3), "yeah"), (TurnActions{.commits = true}));
}

TEST(TurnTaking, SilenceIsNoTurn) {
  TurnTaking turn;
  turn.on_voice(at(0), true);
  turn.on_voice(at(0.2), false);
  EXPECT_EQ(turn.state(), State::kIdle);
  EXPECT_EQ(turn.on_end(at(1), " "), kForgets);
  EXPECT_EQ(turn.state(), State::kIdle);
}

}  // namespace
}  // namespace predgen

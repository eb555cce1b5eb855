#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/converse/tool_rounds.h"
#include "tests/fakes/scheduled_calls.h"
#include "tests/fakes/stage.h"

namespace predgen {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// Calls the lamp with the user's last word; then what it says.
std::string call_with_last_word(const std::string& user) {
  if (const size_t end = user.find('>'); end != std::string::npos) {
    return "It says " + user.substr(end + 1) + ". Go on!";
  }
  const std::string word = user.substr(user.rfind(' ') + 1);
  if (word == "well") return "Yes. Go on!";
  return R"(<tool_call>{"name": "lamp", "arguments": {"room": ")" + word + "\"}}</tool_call>";
}

/// A conversation whose lamp takes time on the virtual clock.
struct TimedTalk {
  explicit TimedTalk(const ToolRoundOptions& options = {},
                     std::function<std::string(const std::string&)> answer = call_with_last_word)
      : stage({.answer = std::move(answer), .max_draft_tokens = 200}),
        rounds(calls, options, stage.clock) {
    stage.session.set_max_new_tokens(200);
    calls.answer = [this](const auto&, const auto&) { return next; };
    rounds.set_listener([this](const ToolEvent& event) { lines.push_back(event_line(event)); });
    observer.on_text = [this](const std::string& text) { shown += text; };
  }
  TurnResult run(std::vector<Transcript> transcripts, const std::stop_token& stop = {}) {
    ScheduledSource source(std::move(transcripts));
    return rounds.run_turn(stage.session, source, observer, stop).value();
  }

  Stage stage;
  ScheduledCalls calls{stage.clock};
  ScheduledCalls::Outcome next{.text = "on", .seconds = 1};
  ToolRounds rounds;
  TurnObserver observer;
  std::string shown;
  std::vector<std::string> lines;
};

TEST(EarlyToolRounds, HideATool) {
  TimedTalk talk;
  const TurnResult result =
      talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 20)});
  EXPECT_EQ(result.text, "It says on. Go on!");
  EXPECT_EQ(talk.shown, result.text);
  // The first sentence was verified and its sound made before the user's last word.
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0);
  EXPECT_TRUE(result.metrics.ready_before_end);
  EXPECT_TRUE(result.metrics.first_sentence_kept);
  EXPECT_DOUBLE_EQ(*result.metrics.ttfs, 0);
  EXPECT_DOUBLE_EQ(*result.metrics.audio_latency, 0);
  EXPECT_GT(*result.metrics.lead_time, 5);
  EXPECT_EQ(result.metrics.early_calls, 1);
  EXPECT_EQ(result.metrics.early_calls_kept, 1);
  EXPECT_THAT(talk.lines, ElementsAre("lamp: running while you speak",
                                      "lamp: done after 1.00 s while you speak",
                                      "lamp: kept, done after 1.00 s while you spoke"));
  const std::vector<Message> history = talk.stage.session.history();
  ASSERT_EQ(history.size(), 4u);
  EXPECT_EQ(history[2].content, "on");
  EXPECT_EQ(history[2].tool_call_id, history[1].tool_calls[0].id);
}

TEST(EarlyToolRounds, WithoutThemTheUserWaits) {
  TimedTalk talk({.early_calls = 0});
  const TurnResult result =
      talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 20)});
  EXPECT_EQ(result.text, "It says on. Go on!");
  EXPECT_GT(*result.metrics.ttfs, 1);
  EXPECT_EQ(result.metrics.early_calls, 0);
}

TEST(EarlyToolRounds, ACallThatStillRunsHasAHeadStart) {
  TimedTalk talk;
  talk.next.seconds = 4;
  const TurnResult result =
      talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 8)});
  EXPECT_EQ(result.text, "It says on. Go on!");
  EXPECT_EQ(talk.calls.begun.size(), 1u);
  EXPECT_LT(*result.metrics.ttfs, 2.5);
  EXPECT_THAT(talk.lines, Contains(testing::HasSubstr("of it while you spoke")));
}

TEST(EarlyToolRounds, OtherWordsDiscardThem) {
  TimedTalk talk;
  const TurnResult result =
      talk.run({partial("the red", 0.1), partial("is the red", 5),
                partial("is the red or blue", 10), final_one("is the red or blue", 20)});
  EXPECT_THAT(talk.calls.begun, ElementsAre(R"(lamp {"room":"red"})", R"(lamp {"room":"blue"})"));
  EXPECT_EQ(result.calls.size(), 1u);
  EXPECT_EQ(result.metrics.early_calls_kept, 0);  // no later words have kept the second one
  EXPECT_THAT(talk.lines, Contains("lamp: discarded after 1.00 s"));
  const TurnResult plain =
      talk.run({partial("the red", 30), partial("is the red", 31), final_one("oh well", 40)});
  EXPECT_EQ(plain.text, "Yes. Go on!");
  EXPECT_EQ(talk.stage.session.history().size(), 6u);
  EXPECT_EQ(talk.calls.num_alive, 0);
}

TEST(EarlyToolRounds, NothingWithEffectsRunsBeforeTheWordsAreFinal) {
  for (const bool asks : {false, true}) {
    TimedTalk talk;
    talk.calls.offered[0].effects = asks ? act::Effects::kRead : act::Effects::kIdempotent;
    talk.calls.offered[0].asks = asks;
    bool is_final = false;
    talk.observer.on_transcript = [&](const Transcript& heard) {
      EXPECT_THAT(talk.calls.begun, IsEmpty());
      is_final = heard.is_final;
    };
    talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 20)});
    EXPECT_TRUE(is_final);
    EXPECT_EQ(talk.calls.begun.size(), asks ? 0u : 1u);
  }
}

TEST(EarlyToolRounds, AnswersAreDraftedBehindWhatAnEffectWillProbablySay) {
  for (const std::string guess : {"on", "off", ""}) {
    TimedTalk talk;
    talk.calls.offered[0].effects = act::Effects::kIdempotent;
    talk.next.seconds = 0;
    talk.calls.guess = [&](const auto&, const auto&) {
      return guess.empty() ? std::nullopt : std::optional(guess);
    };
    talk.observer.on_draft = [](const std::string& draft, size_t) {
      EXPECT_THAT(draft, testing::Not(testing::HasSubstr("It says"))) << "nobody sees a guess";
    };
    talk.observer.on_first_sentence = [](const std::string& sentence) {
      ADD_FAILURE() << "nobody hears of it: " << sentence;
    };
    talk.observer.on_transcript = [&](const Transcript&) {
      EXPECT_THAT(talk.calls.begun, IsEmpty());
    };
    const TurnResult result =
        talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 20)});
    EXPECT_EQ(result.text, "It says on. Go on!");
    EXPECT_EQ(talk.calls.begun.size(), 1u);
    EXPECT_EQ(result.metrics.nfe_to_first_sentence == 0, guess == "on") << guess;
    EXPECT_EQ(*result.metrics.audio_latency == 0, guess == "on") << guess;
    EXPECT_EQ(result.metrics.early_calls, 0);
  }
}

TEST(EarlyToolRounds, NothingIsGuessedOfWhatAsksOrWithoutEarlyCalls) {
  for (const bool asks : {false, true}) {
    TimedTalk talk({.early_calls = asks ? 3 : 0});
    talk.calls.offered[0].effects = act::Effects::kIdempotent;
    talk.calls.offered[0].asks = asks;
    talk.calls.guess = [](const auto&, const auto&) -> std::optional<std::string> {
      ADD_FAILURE() << "a guess";
      return std::nullopt;
    };
    talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 20)});
  }
}

TEST(EarlyToolRounds, NothingIsGuessedBeforeLaterWordsHaveKeptTheCall) {
  TimedTalk talk;
  talk.calls.offered[0].effects = act::Effects::kIdempotent;
  int64_t num_guesses = 0;
  talk.calls.guess = [&](const auto&, const auto&) {
    ++num_guesses;
    return "on";
  };
  talk.run({partial("the red", 0.1), final_one("the red", 20)});
  EXPECT_EQ(num_guesses, 0);
  talk.run(
      {partial("is the red", 30), partial("so is the red", 35), final_one("so is the red", 50)});
  EXPECT_GT(num_guesses, 0);
}

TEST(EarlyToolRounds, NothingIsReadBehindAnEffectThatIsNotThereYet) {
  TimedTalk talk({}, [](const std::string& user) -> std::string {
    if (user.ends_with(">on")) return R"(<tool_call>{"name": "look", "arguments": {}}</tool_call>)";
    return call_with_last_word(user);
  });
  talk.calls.offered[0].effects = act::Effects::kIdempotent;
  talk.calls.offered.push_back(
      {.name = "look", .server = "home", .own_name = "look", .effects = act::Effects::kRead});
  talk.calls.guess = [](const auto&, const auto&) { return "on"; };
  talk.observer.on_transcript = [&](const Transcript&) {
    EXPECT_THAT(talk.calls.begun, IsEmpty());
  };
  talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 20)});
  EXPECT_THAT(talk.calls.begun, ElementsAre(R"(lamp {"room":"red"})", "look {}"));
}

TEST(EarlyToolRounds, WhatAToolSaysMayCallAnother) {
  TimedTalk talk({}, [](const std::string& user) -> std::string {
    if (user.ends_with(">on")) {
      return R"(<tool_call>{"name": "lamp", "arguments": {"room": "all"}}</tool_call>)";
    }
    return call_with_last_word(user);
  });
  int64_t number = 0;
  talk.calls.answer = [&](const auto&, const auto&) {
    return ScheduledCalls::Outcome{.text = number++ == 0 ? "on" : "off", .seconds = 1};
  };
  const TurnResult result =
      talk.run({partial("the red", 0.1), partial("is the red", 5), partial("so is the red", 15),
                partial("so, is the red", 25), final_one("so, is the red", 33)});
  EXPECT_EQ(result.text, "It says off. Go on!");
  EXPECT_EQ(result.metrics.early_calls_kept, 2);
  EXPECT_EQ(result.metrics.nfe_to_first_sentence, 0);
  EXPECT_EQ(talk.stage.session.history().size(), 6u);
}

TEST(EarlyToolRounds, AResultFromBeforeAnEffectIsOld) {
  TimedTalk talk({}, [](const std::string& user) -> std::string {
    if (user.find('>') != std::string::npos) return "Yes.";
    return R"(<tool_call>{"name": "lamp", "arguments": {}}</tool_call>)"
           R"(<tool_call>{"name": "draw", "arguments": {}}</tool_call>)"
           R"(<tool_call>{"name": "lamp", "arguments": {"room": "all"}}</tool_call>)";
  });
  talk.calls.offered.push_back({.name = "draw", .effects = act::Effects::kWrites});
  const TurnResult result = talk.run({partial("the", 0.1), partial("the red", 5),
                                      partial("the red one", 10), final_one("the red one", 20)});
  EXPECT_THAT(talk.calls.begun, ElementsAre("lamp {}", "draw {}", R"(lamp {"room":"all"})"));
  EXPECT_EQ(result.metrics.early_calls_kept, 1);
}

TEST(EarlyToolRounds, APauseKeepsACall) {
  TimedTalk talk, without;
  const auto run = [](TimedTalk& one, const Transcript& heard) {
    return one.run({heard, final_one("the red", 20)}).metrics.early_calls;
  };
  EXPECT_EQ(run(talk, stable("the red", 0.1)), 1);
  EXPECT_EQ(run(without, partial("the red", 0.1)), 0);
}

TEST(EarlyToolRounds, TheUserMayBreakIn) {
  TimedTalk talk;
  std::stop_source stop;
  talk.next.seconds = 60;
  talk.calls.on_wait = [&] {
    if (talk.stage.clock.now() > Seconds(6)) stop.request_stop();
  };
  EXPECT_THROW(
      talk.run({partial("the red", 0.1), partial("is the red", 5), final_one("is the red", 80)},
               stop.get_token()),
      Interrupted);
  EXPECT_EQ(talk.calls.num_alive, 0);
  EXPECT_FALSE(talk.rounds.has_acted());  // the words may be asked again
  EXPECT_THAT(talk.stage.session.history(), IsEmpty());
  talk.calls.on_wait = [] {};
  EXPECT_EQ(talk.run({final_one("red", 90)}).text, "It says on. Go on!");
}

/// A look that hangs, and then the lamp: by another message, or in the same one.
std::string look_then_switch(const std::string& user) {
  const auto call = [](const std::string& tool) {
    return R"(<tool_call>{"name": ")" + tool + R"(", "arguments": {"room": "red"}}</tool_call>)";
  };
  if (user == "both") return call("look") + call("lamp");
  const size_t end = user.find('>');
  if (end == std::string::npos) return call("look");
  return user.substr(end + 1) == "dark" ? call("lamp") : "Done, it is on!";
}

TEST(LateToolRounds, AnEffectThatComesLateAsksFirst) {
  for (const std::string words : {"one", "both"}) {
    for (const double seconds : {5.0, 12.0}) {
      const bool is_late = seconds > 10;
      TimedTalk talk({}, look_then_switch);
      talk.calls.offered[0].effects = act::Effects::kWrites;
      talk.calls.offered.push_back({.name = "look", .effects = act::Effects::kRead});
      talk.calls.answer = [&](const act::Tool& tool, const std::string&) {
        return tool.name == "look" ? ScheduledCalls::Outcome{.text = "dark", .seconds = seconds}
                                   : ScheduledCalls::Outcome{.text = "on"};
      };
      const TurnResult result = talk.run({final_one(words, 100)});
      const size_t num_begun = is_late ? 1 : 2;
      EXPECT_EQ(talk.calls.begun.size(), num_begun) << words << " after " << seconds;
      EXPECT_EQ(result.text, is_late ? "Shall I call lamp, with room red?" : "Done, it is on!");
      if (!is_late) continue;
      const double now = talk.stage.clock.now().count();
      EXPECT_EQ(talk.run({final_one("Yes.", now + 20)}).text, "Done, it is on!");
      EXPECT_EQ(talk.calls.begun.size(), 2u);
    }
  }
}

TEST(LateToolRounds, ALookMayComeLateAndTheLimitIsASetting) {
  TimedTalk talk({.act_within = 0}, call_with_last_word);
  EXPECT_EQ(talk.run({final_one("red", 1)}).text, "It says on. Go on!");
  talk.calls.offered[0].effects = act::Effects::kIdempotent;
  EXPECT_EQ(talk.run({final_one("blue", 30)}).text, "Shall I call lamp, with room blue?");
}

TEST(LateToolRounds, AToolThatHangsIsNotCalledAgain) {
  TimedTalk talk({}, [](const std::string&) { return call_with_last_word("red"); });
  talk.calls.offered[0].effects = act::Effects::kWrites;
  talk.next = {.text = "Error: late",
               .seconds = 40,
               .status = act::ToolResult::Status::kTimedOut,
               .may_have_happened = true};
  EXPECT_EQ(talk.run({final_one("red", 1)}).text,
            "Sorry, I got no answer, so I do not know whether that was done.");
  EXPECT_EQ(talk.calls.begun.size(), 1u);
  EXPECT_EQ(talk.calls.num_alive, 0);
}

}  // namespace
}  // namespace predgen

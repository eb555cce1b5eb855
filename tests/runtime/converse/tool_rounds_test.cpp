#include "runtime/converse/tool_rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "act/background_calls.h"
#include "runtime/generate/token_constraint.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/fake_tools.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/waiting.h"

namespace predgen {
namespace {

using act::ToolResult;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// "Yes." and a call of the lamp with the user's words; then what the tool said.
std::string call_lamp_once(const std::string& user) {
  if (const size_t end = user.find('>'); end != std::string::npos) {
    return "It says " + user.substr(end + 1) + ".";
  }
  return R"(Yes. <tool_call>{"name": "lamp", "arguments": {"room": ")" + user + "\"}}</tool_call>";
}

/// A conversation with the lamp.
struct LampTalk {
  explicit LampTalk(const ToolRoundOptions& options = {},
                    std::function<std::string(const std::string&)> answer = call_lamp_once)
      : stage({.answer = std::move(answer), .max_draft_tokens = 200}),
        rounds(calls, options, stage.clock) {
    stage.session.set_max_new_tokens(200);
    rounds.set_listener([this](const ToolEvent& event) { lines.push_back(event_line(event)); });
    observer.on_text = [this](const std::string& text) { shown += text; };
  }
  TurnResult run(std::vector<Transcript> transcripts, const std::stop_token& stop = {}) {
    ScheduledSource source(std::move(transcripts));
    return rounds.run_turn(stage.session, source, observer, stop).value();
  }
  std::string last_message() const { return stage.session.history().back().content; }

  FakeTools runner;
  act::ThreadedCalls calls{runner};
  Stage stage;
  ToolRounds rounds;
  TurnObserver observer;
  std::string shown;
  std::vector<std::string> lines;
};

TEST(ToolRounds, RunACallAndGoOnWithWhatItSays) {
  LampTalk talk;
  const TurnResult result = talk.run({final_one("red", 1)});
  EXPECT_THAT(talk.runner.calls, ElementsAre(R"(lamp {"room":"red"})"));
  EXPECT_EQ(result.text, "Yes. It says on.");
  EXPECT_EQ(talk.shown, result.text);
  EXPECT_EQ(result.calls.size(), 1u);
  EXPECT_TRUE(talk.rounds.has_acted());
  const std::vector<Message> history = talk.stage.session.history();
  ASSERT_EQ(history.size(), 4u);
  EXPECT_EQ(history[2].role, "tool");
  EXPECT_EQ(history[2].content, "on");
  EXPECT_EQ(history[2].tool_call_id, history[1].tool_calls[0].id);
  EXPECT_EQ(history[2].tool_call_id.size(), 9u);  // as Mistral's templates want it
  EXPECT_THAT(talk.lines, ElementsAre("lamp: running", "lamp: done after 0.00 s"));
  // Time counts from the user's last word, and the first sentence came before the call.
  EXPECT_GT(result.metrics.total_nfe, 2);
  EXPECT_TRUE(result.metrics.ttfs.has_value());
}

TEST(ToolRounds, NothingRunsBeforeTheWordsAreFinal) {
  LampTalk talk;
  size_t num_before = 0, num_drafts = 0;
  talk.observer.on_draft = [&](const std::string&, size_t) {
    ++num_drafts;
    num_before += talk.runner.calls.size();
  };
  const TurnResult result = talk.run(
      {partial("red", 0.1), partial("red", 9), partial("red room", 18), final_one("red room", 27)});
  EXPECT_GT(num_drafts, 2u);  // each with time for more than the call
  EXPECT_EQ(num_before, 0u);
  EXPECT_THAT(talk.runner.calls, ElementsAre(R"(lamp {"room":"red room"})"));
  EXPECT_EQ(result.text, "Yes. It says on.");
}

/// A model for which everything works: it calls `tools` with the user's words, and says so.
std::function<std::string(const std::string&)> claim_success(
    const std::vector<std::string>& tools) {
  return [tools](const std::string& user) -> std::string {
    if (user.find('>') != std::string::npos) return "Done, it is on!";
    std::string calls;
    for (const std::string& tool : tools) {
      calls += R"(<tool_call>{"name": ")" + tool + R"(", "arguments": {"room": ")" + user +
               "\"}}</tool_call>";
    }
    return calls;
  };
}

/// Tools that fail but for those named.
auto fail_but(const std::string& which) {
  return [which](const std::string& arguments, const auto&, const auto&) {
    if (arguments.find(which) != std::string::npos) return ToolResult{};
    return ToolResult{ToolResult::Status::kFailed, "Error: say that it worked"};
  };
}

TEST(ToolRounds, NobodySaysThatAFailedCallWorked) {
  const std::string said = "Sorry, that did not work.";
  for (const bool has_grammar : {false, true}) {
    LampTalk talk({}, claim_success({"lamp"}));
    if (has_grammar) talk.rounds.set_form([](const AnswerRules&) { return nullptr; });
    talk.runner.answer = fail_but("blue");
    const TurnResult result = talk.run({final_one("red", 1)});
    EXPECT_EQ(result.text, said);
    EXPECT_EQ(talk.shown, said);
    EXPECT_EQ(talk.stage.speaker.all_said.back().front().second, said);
    EXPECT_EQ(talk.lines.back(), "lamp: failed after 0.00 s");
    const std::vector<Message> history = talk.stage.session.history();
    ASSERT_EQ(history.size(), 4u);
    EXPECT_EQ(history[2].content, "Error: say that it worked") << "the model knows why, if asked";
    EXPECT_EQ(history[3].content, said);
    // The next turn has failures of its own alone.
    EXPECT_EQ(talk.run({final_one("blue", 9)}).text, "Done, it is on!");
  }
}

TEST(ToolRounds, AFailedLookIsToldToTheModel) {
  LampTalk talk;
  talk.runner.offered[0].effects = act::Effects::kRead;
  talk.runner.answer = [](const auto&, const auto&, const auto&) {
    return ToolResult{ToolResult::Status::kUnavailable, "Error: it is gone"};
  };
  EXPECT_EQ(talk.run({final_one("red", 1)}).text, "Yes. It says Error: it is gone.");
  EXPECT_EQ(talk.lines.back(), "lamp: unavailable after 0.00 s");
}

TEST(ToolRounds, WhatWorkedBesideAFailureIsSaidToo) {
  LampTalk talk({}, claim_success({"lamp", "bell"}));
  talk.runner.offered.push_back(
      {.name = "bell", .own_name = "bell", .effects = act::Effects::kWrites});
  int number = 0;
  talk.runner.answer = [&number](const auto&, const auto&, const auto&) {
    return ToolResult{++number == 1 ? ToolResult::Status::kFailed : ToolResult::Status::kDone, ""};
  };
  EXPECT_EQ(talk.run({final_one("red", 1)}).text,
            "Sorry, not all of that worked. Done: bell, with room red. Not done: lamp, with room "
            "red.");
  EXPECT_EQ(talk.runner.calls.size(), 2u);
}

TEST(ToolRounds, AFailureIsSaidBeforeAQuestion) {
  LampTalk talk({}, claim_success({"lamp", "door"}));
  talk.runner.offered.push_back({.name = "door", .own_name = "door", .asks = true});
  talk.runner.answer = fail_but("blue");
  EXPECT_EQ(talk.run({final_one("red", 1)}).text,
            "Sorry, that did not work. Shall I call door, with room red?");
  EXPECT_EQ(talk.runner.calls.size(), 1u);
}

TEST(ToolRounds, AToolThatHasGoneHasDoneNothing) {
  LampTalk talk({}, claim_success({"lamp"}));
  talk.observer.on_transcript = [&](const Transcript&) { talk.runner.offered.clear(); };
  EXPECT_EQ(talk.run({final_one("red", 1)}).text, "Sorry, that did not work.");
  EXPECT_THAT(talk.runner.calls, IsEmpty());
}

TEST(ToolRounds, TheSameCallIsMadeOnceInAMessage) {
  LampTalk talk({}, [](const std::string& user) -> std::string {
    if (user.find('>') != std::string::npos) return "No.";
    return R"(<tool_call>{"name": "lamp", "arguments": {"a": 1, "b": 2}}</tool_call>)"
           R"(<tool_call>{"name": "lamp", "arguments": {"b": 2, "a": 1}}</tool_call>)";
  });
  talk.run({final_one("red", 1)});
  EXPECT_EQ(talk.runner.calls.size(), 1u);
  const std::vector<Message> history = talk.stage.session.history();
  ASSERT_EQ(history.size(), 5u);
  EXPECT_EQ(history[3].content, "on");
  EXPECT_NE(history[2].tool_call_id, history[3].tool_call_id);
}

/// A call of the lamp, in another room each time.
std::string call_next_room(const std::string& user) {
  const std::string room = user.substr(user.find('>') + 1);
  return R"(<tool_call>{"name": "lamp", "arguments": {"room": ")" + room + "\"}}</tool_call>";
}

/// What holds an answer to letters, none of which begins a call.
struct Letters : TokenConstraint {
  std::string name() const override { return "letters"; }
  std::unique_ptr<TokenConstraint> fork() const override {
    return std::make_unique<Letters>(*this);
  }
  bool accept(TokenId token) override { return token >= 'a' && token <= 'c' && ++length <= 3; }
  bool may_end() const override { return length == 3; }
  void insert_allowed(TokenSet& tokens) const override {
    for (TokenId token = 'a'; token <= 'c' && length < 3; ++token) tokens.insert(token);
  }
  TokenIds forced(int64_t) const override { return {}; }
  int64_t length = 0;
};

TEST(ToolRounds, WhatFollowsAResultIsHeldToAFormOfItsOwn) {
  LampTalk talk({}, [](const std::string& user) -> std::string {
    return user.find('>') == std::string::npos
               ? R"(<tool_call>{"name": "lamp", "arguments": {}}</tool_call>)"
               : "It is on.";
  });
  talk.rounds.set_form([](const AnswerRules& rules) {
    const bool is_behind = rules.json == AnswerRules::NamedJson::kForbidden;
    return is_behind ? std::make_shared<Letters>() : nullptr;
  });
  const TurnResult result = talk.run({final_one("red", 1)});
  EXPECT_EQ(talk.runner.calls.size(), 1u);
  EXPECT_EQ(result.text.size(), 3u) << result.text;
  EXPECT_EQ(result.text.find_first_not_of("abc"), std::string::npos) << result.text;
}

TEST(ToolRounds, ACallThatComesAgainHasItsResultAndThenTheAnswerIsText) {
  LampTalk talk({}, [](const std::string& user) -> std::string {
    const bool is_first = user.find('>') == std::string::npos;
    return std::string(R"(<tool_call>{"name": "lamp", "arguments": )") +
           (is_first ? R"({"a": 1, "b": 2})" : R"({"b": 2, "a": 1})") + "}</tool_call>";
  });
  std::vector<AnswerRules> asked;
  std::vector<std::string> words;  // for which it was asked besides
  talk.rounds.set_form(
      [&](const AnswerRules& rules) {
        asked.push_back(rules);
        return rules.calls == AnswerRules::Calls::kForbidden ? std::make_shared<Letters>()
                                                             : nullptr;
      },
      [&](const AnswerRules&, const std::string& said) {
        words.push_back(said);
        return nullptr;
      });
  const TurnResult result = talk.run({final_one("red", 1)});
  EXPECT_EQ(talk.runner.calls.size(), 1u);
  EXPECT_EQ(result.text.size(), 3u) << result.text;
  EXPECT_THAT(talk.lines, ElementsAre("lamp: running", "lamp: done after 0.00 s",
                                      "lamp: the same call again, so not made"));
  const std::vector<Message> history = talk.stage.session.history();
  ASSERT_EQ(history.size(), 6u);
  EXPECT_EQ(history[4].content, history[2].content);
  EXPECT_NE(history[4].tool_call_id, history[2].tool_call_id);
  ASSERT_EQ(asked.size(), 3u);  // for the first answer, for what follows results, for text
  EXPECT_NE(asked[0].json, asked[1].json);  // in either order
  EXPECT_EQ(asked[2].calls, AnswerRules::Calls::kForbidden);
  EXPECT_THAT(words, ElementsAre("red", "red"));  // behind the result they are the same
  // In the next turn calls are free again, and the same one is made.
  talk.run({final_one("red", 9)});
  EXPECT_EQ(talk.runner.calls.size(), 2u);
}

TEST(ToolRounds, WithoutAGrammarTheSecondRepetitionEndsTheAnswer) {
  LampTalk talk({.max_rounds = 9}, [](const std::string&) {
    return R"(<tool_call>{"name": "lamp", "arguments": {}}</tool_call>)";
  });
  EXPECT_THAT(talk.run({final_one("red", 1)}).text, HasSubstr("too many steps"));
  EXPECT_EQ(talk.runner.calls.size(), 1u);
  EXPECT_EQ(talk.stage.session.history().size(), 8u);
}

TEST(ToolRounds, WhatWasReadBeforeAnEffectIsReadAgain) {
  const std::string look = R"(<tool_call>{"name": "look", "arguments": {}}</tool_call>)";
  const std::string lamp = R"(<tool_call>{"name": "lamp", "arguments": {}}</tool_call>)";
  LampTalk talk({}, [&](const std::string& user) {
    return user.find('>') == std::string::npos ? look + lamp + look + lamp : "Yes.";
  });
  talk.runner.offered.push_back(
      {.name = "look", .own_name = "look", .effects = act::Effects::kRead});
  talk.stage.session.set_max_new_tokens(300);
  EXPECT_EQ(talk.run({final_one("red", 1)}).text, "Yes.");
  EXPECT_THAT(talk.runner.calls, ElementsAre("look {}", "lamp {}", "look {}"));
}

TEST(ToolRounds, WhatWasDoneIsNotDoneAgainBehindAnotherEffect) {
  const std::string bell = R"(<tool_call>{"name": "bell", "arguments": {}}</tool_call>)";
  const std::string lamp = R"(<tool_call>{"name": "lamp", "arguments": {}}</tool_call>)";
  LampTalk talk({}, [&](const std::string& user) {
    return user.find('>') == std::string::npos ? lamp + bell + lamp : "Yes.";
  });
  talk.runner.offered.push_back(
      {.name = "bell", .own_name = "bell", .effects = act::Effects::kWrites});
  talk.run({final_one("red", 1)});
  EXPECT_THAT(talk.runner.calls, ElementsAre("lamp {}", "bell {}"));
}

TEST(ToolRounds, FunctionsOfTheCallerEndTheAnswerAndHideOurs) {
  for (const bool has_same_name : {false, true}) {
    LampTalk talk({}, [](const std::string&) {
      return R"(<tool_call>{"name": "lamp", "arguments": {}}</tool_call>)"
             R"(<tool_call>{"name": "bell", "arguments": {}}</tool_call>)";
    });
    std::vector<act::Tool> theirs{{.name = "bell"}};
    if (has_same_name) theirs.push_back({.name = "lamp"});
    talk.rounds.share(act::tool_set(theirs), /*offers_ours=*/true);
    const TurnResult result = talk.run({final_one("red", 1)});
    EXPECT_EQ(talk.runner.calls.size(), has_same_name ? 0u : 1u);
    ASSERT_EQ(result.calls.size(), 2u);
    const std::vector<Message> history = talk.stage.session.history();
    ASSERT_EQ(history.size(), has_same_name ? 2u : 3u);
    EXPECT_EQ(talk.rounds.take_messages().size(), has_same_name ? 0u : 2u);
    if (has_same_name) continue;
    EXPECT_EQ(history[1].tool_calls, result.calls);
    EXPECT_EQ(history[2].tool_call_id, result.calls[0].id);
    talk.rounds.share({}, /*offers_ours=*/false);
    EXPECT_TRUE(talk.rounds.offered().empty());
  }
}

TEST(ToolRounds, EndAfterSoMany) {
  LampTalk talk({.max_rounds = 2}, call_next_room);
  int number = 0;
  talk.runner.answer = [&](const auto&, const auto&, const auto&) {
    return ToolResult{ToolResult::Status::kDone, std::to_string(++number)};
  };
  const TurnResult result = talk.run({final_one("red", 1)});
  EXPECT_EQ(talk.runner.calls.size(), 2u);
  EXPECT_THAT(result.text, HasSubstr("too many steps"));
  EXPECT_EQ(talk.last_message(), result.text);
  EXPECT_EQ(talk.stage.speaker.all_said.back().front().second, result.text);
}

TEST(ToolRounds, AskTheUserFirst) {
  for (const char* reply : {"Yes, please.", "No."}) {
    const bool is_yes = std::string(reply) != "No.";
    LampTalk talk({}, [](const std::string& user) -> std::string {
      return user == "No." ? "No." : call_lamp_once(user);
    });
    talk.runner.offered[0].asks = true;
    const TurnResult asked = talk.run({final_one("red", 1)});
    EXPECT_THAT(talk.runner.calls, IsEmpty());
    EXPECT_EQ(asked.text, "Yes. Shall I call lamp, with room red?");
    EXPECT_EQ(talk.lines.back(), "lamp: waits for your yes");
    EXPECT_FALSE(talk.rounds.has_acted());
    const TurnResult then = talk.run({partial("Yes", 2), final_one(reply, 20)});
    EXPECT_EQ(talk.runner.calls.size(), is_yes ? 1u : 0u);
    EXPECT_EQ(then.text, is_yes ? "It says on." : "No.");
    EXPECT_EQ(then.prompt_text, reply);
    const std::vector<Message> history = talk.stage.session.history();
    ASSERT_EQ(history.size(), is_yes ? 8u : 6u);
    EXPECT_THAT(history[2].content, HasSubstr("the user is asked first"));
    EXPECT_EQ(history[4].content, reply);
    // A yes is for one call.
    if (is_yes) talk.run({final_one("blue", 40)});
    EXPECT_EQ(talk.runner.calls.size(), is_yes ? 1u : 0u);
  }
}

TEST(ToolRounds, AYesThatComesLateIsNone) {
  for (const double after : {50.0, 80.0}) {
    LampTalk talk({}, [](const std::string& user) {
      return user == "Yes." ? "Yes what?" : call_lamp_once(user);
    });
    talk.runner.offered[0].asks = true;
    talk.run({final_one("red", 1)});
    const double asked = talk.stage.clock.now().count();
    const TurnResult then = talk.run({final_one("Yes.", asked + after)});
    EXPECT_EQ(then.text, after < 60 ? "It says on." : "Yes what?");
    EXPECT_EQ(talk.runner.calls.size(), after < 60 ? 1u : 0u);
    EXPECT_EQ(talk.run({final_one("Yes.", asked + 90)}).text, "Yes what?");
  }
}

TEST(ToolRounds, AUserWhoBreaksInCancelsWhatRuns) {
  LampTalk talk;
  std::stop_source stop;
  talk.runner.answer = [&](const auto&, const std::stop_token& token, const auto&) {
    stop.request_stop();
    EXPECT_TRUE(comes_true([&] { return token.stop_requested(); }));
    return ToolResult{ToolResult::Status::kCancelled, "Cancelled."};
  };
  EXPECT_THROW(talk.run({final_one("red", 1)}, stop.get_token()), Interrupted);
  EXPECT_TRUE(talk.rounds.has_acted());
  EXPECT_EQ(talk.last_message(), "Cancelled.");
  EXPECT_EQ(talk.stage.session.history().size(), 3u);
  EXPECT_EQ(talk.stage.session.interrupt(), "");  // which finds no answer to cut
  talk.runner.answer = [](const auto&, const auto&, const auto&) {
    return ToolResult{ToolResult::Status::kDone, "off"};
  };
  EXPECT_EQ(talk.run({final_one("blue", 9)}).text, "Yes. It says off.");
}

TEST(ToolRounds, SaySomethingWhileTheUserWaits) {
  LampTalk talk({.filler = "One moment.", .filler_after = Seconds(0.01)});
  std::atomic<bool> is_filled = false;
  talk.rounds.set_listener([&](const ToolEvent& event) {
    talk.lines.push_back(event_line(event));
    is_filled = is_filled || event.kind == ToolEvent::Kind::kFiller;
  });
  talk.runner.answer = [&](const auto&, const auto&, const auto& on_progress) {
    on_progress({1, 2});
    EXPECT_TRUE(comes_true([&] { return is_filled.load(); }));
    return ToolResult{ToolResult::Status::kDone, "on"};
  };
  EXPECT_EQ(talk.run({final_one("red", 1)}).text, "Yes. It says on.");
  EXPECT_THAT(talk.lines, testing::Contains("said meanwhile: One moment."));
  EXPECT_THAT(talk.lines, testing::Contains("lamp: 1 of 2"));
  ASSERT_EQ(talk.stage.speaker.all_said.size(), 3u);
  EXPECT_EQ(talk.stage.speaker.all_said[1].front().second, "One moment.");
}

TEST(ToolRounds, NewToolsAreOfferedWithTheNextTurn) {
  LampTalk talk;
  std::vector<size_t> held;  // numbers of tools
  talk.rounds.set_form([&](const AnswerRules& rules) {
    held.push_back(rules.tools.names.size());
    return nullptr;
  });
  talk.run({final_one("red", 1)});
  talk.runner.offered.push_back({.name = "oven", .own_name = "oven"});
  talk.run({final_one("blue", 9)});
  EXPECT_EQ(talk.stage.session.config().tools.names, (std::vector<std::string>{"lamp", "oven"}));
  talk.run({final_one("blue", 19)});
  EXPECT_THAT(held, ElementsAre(1, 1, 2, 2));
  talk.stage.tokenizer = FakeTokenizer(kWords, ToolFormat::kNone);
  talk.runner.offered.pop_back();
  expect_user_error([&] { talk.rounds.offer_tools(talk.stage.session); }, {"chat template"});
}

}  // namespace
}  // namespace predgen

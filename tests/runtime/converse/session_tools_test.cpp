#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/stage.h"

namespace predgen {
namespace {

using testing::HasSubstr;

const ToolSet kLamp{.json = R"([{"type":"function","function":{"name":"lamp"}}])",
                    .names = {"lamp"}};

/// A call that has the user's words.
std::string call_of(const std::string& user) {
  return R"(<tool_call>{"name": "lamp", "arguments": {"room": ")" + user + "\"}}</tool_call>";
}

/// "Yes." and a call; then what the function said.
std::string call_lamp(const std::string& user) {
  if (const size_t end = user.find('>'); end != std::string::npos) {
    return "It says " + user.substr(end + 1) + ". Go on!";
  }
  return "Yes. " + call_of(user);
}

std::string sentences(const FakeSpeaker::Timed& said) {
  std::string all;
  for (const auto& [time, sentence] : said) all += "[" + sentence + "]";
  return all;
}

void expect_silent_call(InputTimeWork work, const std::string& text) {
  Stage stage({.work = work,
               .answer = [&](const std::string& user) { return text + call_of(user); },
               .max_draft_tokens = 200});
  stage.session.set_tools(kLamp);
  stage.session.set_max_new_tokens(200);
  std::string shown, drafted;
  TurnObserver observer;
  observer.on_text = [&](const std::string& more) { shown += more; };
  observer.on_draft = [&](const std::string& draft, size_t) { drafted += draft; };
  const TurnResult result =
      stage.run({partial("red", 0.1), partial("red room", 9), final_one("red room", 18)}, observer);
  EXPECT_EQ(result.calls, (std::vector<ToolCall>{{"", "lamp", R"({"room":"red room"})"}}));
  EXPECT_EQ(result.text, text);
  EXPECT_EQ(shown, text);
  EXPECT_EQ(drafted.find("tool_call"), std::string::npos);
  EXPECT_EQ(sentences(stage.speaker.all_said[0]), text.empty() ? "" : "[" + text + "]");
  EXPECT_EQ(sentences(stage.speaker.all_prepared[0]).find("{"), std::string::npos);
  const std::string prompt = stage.tokenizer.decode(result.prompt, /*keep_special=*/true);
  EXPECT_TRUE(prompt.starts_with("<system>" + kLamp.json + "<end><user>")) << prompt;
}

TEST(SessionTools, ACallIsNeitherSaidNorShown) {
  for (const auto work : {InputTimeWork::kCascade, InputTimeWork::kSpeculate}) {
    for (const char* text : {"Yes.", ""}) expect_silent_call(work, text);
  }
}

TEST(SessionTools, AnAnswerGoesOnWithWhatAFunctionSaid) {
  Stage stage({.answer = call_lamp});
  stage.session.set_tools(kLamp);
  const TurnResult first = stage.run({final_one("red", 1)});
  std::vector<Message> history = stage.session.history();
  ASSERT_EQ(history.size(), 2u);
  ASSERT_EQ(history[1].tool_calls, first.calls);
  history.push_back({.role = "tool", .content = "on", .tool_call_id = "c"});
  stage.session.set_history(history);
  const TurnResult second = stage.run({final_one("", 9)});
  EXPECT_EQ(second.text, "It says on. Go on!");
  EXPECT_EQ(stage.session.history().size(), 4u);  // no empty message of the user
  EXPECT_EQ(second.prompt, stage.tokenizer.render_chat(history, true, kLamp));
}

TEST(SessionTools, WhatIsGoneOnWithIsNotForgotten) {
  Stage stage({.answer = call_lamp, .context_length = 400});
  stage.session.set_tools(kLamp);
  std::vector<Message> history;
  for (const char* words : {"one", "two"}) {
    history.push_back({.role = "user", .content = std::string(100, 'x') + words});
    history.push_back({.role = "assistant", .content = "", .tool_calls = {{"c", "lamp", "{}"}}});
    history.push_back({.role = "tool", .content = "on", .tool_call_id = "c"});
  }
  stage.session.set_history(history);
  const TurnResult result = stage.run({final_one("", 9)});
  EXPECT_FALSE(result.error);
  EXPECT_EQ(result.dropped_rounds, 1);
  EXPECT_THAT(stage.tokenizer.decode(result.prompt), HasSubstr("xtwo"));
}

TEST(SessionTools, NeedATemplateThatHasThem) {
  Stage stage({});
  stage.tokenizer = FakeTokenizer(kWords, ToolFormat::kNone);
  expect_user_error([&] { stage.session.set_tools(kLamp); }, {"chat template"});
  EXPECT_TRUE(stage.session.config().tools.empty());
}

}  // namespace
}  // namespace predgen

#include "serve/openai/home_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/openai/openai_api.h"
#include "tests/serve/http/fake_reply.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

const std::string kDone = R"({"response_type": "action_done", "data": {"failed": []}})";
const std::string kFailed = R"({"error": "MatchFailedError", "error_text": "not there"})";
const Message kHome{.role = "system", .content = "- names: Lamp\n  domain: light"};
const Message kAsk{.role = "user", .content = "light"};

/// A call and its result.
std::vector<Message> called(const std::string& name, const std::string& result,
                            const std::string& arguments = R"({"name": "Lamp"})") {
  static int number = 0;
  const std::string id = "call" + std::to_string(++number);
  return {{.role = "assistant", .content = "", .tool_calls = {{id, name, arguments}}},
          {.role = "tool", .content = result, .tool_call_id = id}};
}

size_t num_made(const std::vector<std::vector<Message>>& parts) {
  std::vector<Message> messages{kHome, kAsk};
  for (const auto& part : parts) messages.insert(messages.end(), part.begin(), part.end());
  return calls_made(messages).size();
}

TEST(HomeAnswers, CallsThatAreNotMadeAgain) {
  const auto on = called("HassTurnOn", kDone), off = called("HassTurnOff", kDone);
  EXPECT_EQ(num_made({}), 0u);
  EXPECT_EQ(num_made({on}), 1u);
  EXPECT_EQ(num_made({on, off, called("HassTurnOn", kDone, R"({"name":"Lamp"})")}), 2u);
  EXPECT_EQ(num_made({on, off, {kAsk}}), 0u);  // another turn
  EXPECT_EQ(num_made({on, {kAsk}, off}), 1u);
}

TEST(HomeAnswers, ACallThatFailedMayBeMadeOnceMore) {
  EXPECT_EQ(num_made({called("HassTurnOn", kFailed)}), 0u);
  EXPECT_EQ(num_made({called("HassTurnOn", kFailed), called("HassTurnOn", kFailed)}), 1u);
  EXPECT_EQ(num_made({called("HassTurnOn", "no JSON")}), 1u);
}

TEST(HomeAnswers, StatesMayBeAskedAgainAfterAChange) {
  const auto asked = called("assist__GetLiveContext", R"({"success": true})", "{}");
  EXPECT_EQ(num_made({asked}), 1u);
  EXPECT_EQ(num_made({asked, called("HassTurnOn", kDone)}), 1u);
  EXPECT_EQ(num_made({called("HassTurnOn", kDone), asked}), 2u);
}

/// A server whose model says `answer` whatever it is asked, and a home's client that asks it.
struct HomeApi {
  explicit HomeApi(const std::string& answer) {
    config.tools.constrain_names = true;
    house.answer = [answer](const std::string&) { return answer; };
    defaults.stop_tokens = {FakeTokenizer::kEnd};
  }
  std::vector<Json> ask(const Json& more = Json::object(), const std::string& result = kDone) {
    const Json call{{"id", "1"},
                    {"type", "function"},
                    {"function", {{"name", "HassTurnOn"}, {"arguments", R"({"name": "Lamp"})"}}}};
    const Json parameters{{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}}}};
    Json body{{"model", "m"}, {"max_tokens", 200}};
    body["messages"] = {{{"role", "system"}, {"content", kHome.content}},
                        {{"role", "user"}, {"content", kAsk.content}},
                        {{"role", "assistant"}, {"tool_calls", {call}}},
                        {{"role", "tool"}, {"tool_call_id", "1"}, {"content", result}}};
    for (const char* name : {"HassTurnOn", "HassTurnOff", "GetLiveContext"}) {
      body["tools"].push_back(
          {{"type", "function"}, {"function", {{"name", name}, {"parameters", parameters}}}});
    }
    body.update(more);
    FakeReply reply;
    api.handle({.method = "POST", .path = "/v1/chat/completions", .body = body.dump()}, reply,
               stop.get_token());
    std::vector<Json> answers;
    for (const std::string& event : reply.events) {
      if (event != "[DONE]") answers.push_back(Json::parse(event));
    }
    if (answers.empty()) answers.push_back(Json::parse(reply.answers.at(0).body));
    return answers;
  }
  /// The functions that the answer calls.
  std::vector<std::string> calls(const Json& more = Json::object(),
                                 const std::string& result = kDone) {
    std::vector<std::string> names;
    const Json message = ask(more, result)[0]["choices"][0]["message"];
    for (const Json& call : message.value("tool_calls", Json::array())) {
      names.push_back(call["function"]["name"].get<std::string>());
    }
    return names;
  }

  House house;
  ServeConfig config;
  GenerationDefaults defaults;
  Completer completer{house.engine, house.engine_lock, house.tokenizer, defaults,
                      config,       house.metrics,     house.clock};
  RealtimeApi realtime{house.host, 1};
  OpenAiApi api{completer, house.engine_lock, house.metrics, realtime, "m", Access(ServeConfig())};
  std::stop_source stop;
};

std::string written(const std::string& function) {
  return "<tool_call>\n{\"name\": \"" + function +
         "\", \"arguments\": {\"name\": \"Lamp\"}}\n</tool_call>";
}
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(HomeAnswers, ACallThatWasMadeIsLeftOutAndTheModelSaysSomething) {
  const Json answer = HomeApi(written("HassTurnOn")).ask()[0];
  const Json& choice = answer["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_FALSE(choice["message"].contains("tool_calls"));
  const auto content = choice["message"]["content"].get<std::string>();
  EXPECT_FALSE(content.empty());
  EXPECT_THAT(content, Not(HasSubstr("<tool_call>")));
  // What the model wrote first counts, too.
  FakeTokenizer tokenizer(kWords);
  const auto text = std::ssize(tokenizer.encode(content));
  const auto call = std::ssize(tokenizer.encode(written("HassTurnOn")));
  EXPECT_GE(answer["usage"]["completion_tokens"].get<int64_t>(), text + call);
  EXPECT_LE(answer["usage"]["completion_tokens"].get<int64_t>(), 200);
}

TEST(HomeAnswers, NothingOfSuchACallIsStreamed) {
  std::string text;
  for (const Json& chunk : HomeApi(written("HassTurnOn")).ask({{"stream", true}})) {
    EXPECT_FALSE(chunk["choices"][0]["delta"].contains("tool_calls"));
    text += chunk["choices"][0]["delta"].value("content", "");
  }
  EXPECT_FALSE(text.empty());
}

TEST(HomeAnswers, OtherCallsAndTextStay) {
  EXPECT_THAT(HomeApi(written("HassTurnOff")).calls(), ElementsAre("HassTurnOff"));
  EXPECT_THAT(HomeApi(written("HassTurnOn") + written("HassTurnOff")).calls(),
              ElementsAre("HassTurnOff"));
  const Json message =
      HomeApi("It is on. " + written("HassTurnOn")).ask()[0]["choices"][0]["message"];
  EXPECT_EQ(message["content"], "It is on.");
  EXPECT_FALSE(message.contains("tool_calls"));
}

TEST(HomeAnswers, ACallThatComesTwiceEndsTheAnswer) {
  const std::string off = written("HassTurnOff");
  HomeApi api(off + off + written("HassTurnOn"));
  EXPECT_THAT(api.calls(), ElementsAre("HassTurnOff"));
  EXPECT_LT(api.ask()[0]["usage"]["completion_tokens"].get<size_t>(), 2 * off.size() + 20);
}

TEST(HomeAnswers, AnAnswerWaitsForTheStatesThatItAsksFor) {
  const std::string both = written("GetLiveContext") + written("HassTurnOff");
  HomeApi api(both), others(both);
  EXPECT_THAT(api.calls(), ElementsAre("GetLiveContext"));
  others.config.tools.constrain_names = false;
  EXPECT_THAT(others.calls(), ElementsAre("GetLiveContext", "HassTurnOff"));
}

TEST(HomeAnswers, WhatAFunctionSaidIsNotRepeated) {
  for (const std::string& begin : {kDone, "\n```json\n" + kDone + "\n```", kFailed}) {
    HomeApi api(begin), others(begin);
    const Json answer = api.ask()[0];
    const auto content = answer["choices"][0]["message"]["content"].get<std::string>();
    EXPECT_THAT(content, Not(HasSubstr("{"))) << begin;
    EXPECT_FALSE(content.empty());
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
    others.config.tools.constrain_names = false;
    EXPECT_THAT(others.ask()[0].dump(),
                testing::AnyOf(HasSubstr("MatchFailed"), HasSubstr("action_done")));
  }
}

TEST(HomeAnswers, AreAsTheyWereWhereACallMayBeMadeAgain) {
  HomeApi api(written("HassTurnOn")), others(written("HassTurnOn"));
  EXPECT_THAT(api.calls(), IsEmpty());
  EXPECT_THAT(api.calls(Json::object(), kFailed), ElementsAre("HassTurnOn"));
  EXPECT_THAT(api.calls({{"tool_choice", "required"}}), ElementsAre("HassTurnOn"));
  others.config.tools.constrain_names = false;
  EXPECT_THAT(others.calls(), ElementsAre("HassTurnOn"));
  Json no_home = Json::array({{{"role", "user"}, {"content", "light"}}});
  HomeApi without(written("HassTurnOn") + written("HassTurnOn"));
  EXPECT_THAT(without.calls({{"messages", no_home}}), ElementsAre("HassTurnOn", "HassTurnOn"));
}

}  // namespace
}  // namespace predgen::serve

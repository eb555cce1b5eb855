#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "serve/openai/openai_api.h"
#include "tests/serve/http/fake_reply.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

using testing::HasSubstr;

const std::string kLamp = R"(<tool_call>{"name": "lamp", "arguments": {"on": true}}</tool_call>)";
/// As a call is written that is asked for.
const std::string kWholeLamp =
    "<tool_call>\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n</tool_call>";
const std::string kBell = R"(<tool_call>{"name": "bell", "arguments": {}}</tool_call>)";

/// A server whose answers are given.
struct ToolApi {
  explicit ToolApi(const std::string& answer) {
    house.answer = [answer](const std::string&) { return answer; };
    defaults.stop_tokens = {FakeTokenizer::kEnd};
  }
  void handle(const Json& more, FakeReply& reply) {
    Json body{{"model", "m"}, {"messages", {{{"role", "user"}, {"content", "light"}}}}};
    for (const char* name : {"lamp", "bell"}) {
      body["tools"].push_back({{"type", "function"}, {"function", {{"name", name}}}});
    }
    body.update(more);
    api.handle({.method = "POST", .path = "/v1/chat/completions", .body = body.dump()}, reply,
               stop.get_token());
  }
  Json ask(const Json& more = Json::object()) {
    FakeReply reply;
    handle(more, reply);
    const Json answer = Json::parse(reply.answers.at(0).body);
    return answer.contains("choices") ? answer["choices"][0] : answer["error"];
  }
  /// The chunks' choices.
  std::vector<Json> stream(Json more = Json::object()) {
    FakeReply reply;
    more["stream"] = true;
    handle(more, reply);
    std::vector<Json> choices;
    for (const std::string& event : reply.events) {
      if (event != "[DONE]") choices.push_back(Json::parse(event)["choices"][0]);
    }
    return choices;
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

TEST(ToolAnswers, HaveCallsInsteadOfTheirText) {
  ToolApi api("Yes. " + kLamp + "\n" + kBell);
  const Json choice = api.ask();
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "Yes.");
  const Json calls = choice["message"]["tool_calls"];
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["type"], "function");
  EXPECT_EQ(calls[0]["function"]["name"], "lamp");
  EXPECT_EQ(calls[0]["function"]["arguments"], R"({"on":true})");
  EXPECT_EQ(calls[1]["function"]["name"], "bell");
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);
  EXPECT_THAT(api.house.last_prompt(), HasSubstr(R"("name":"bell")"));
}

TEST(ToolAnswers, AreItemsOfResponses) {
  ToolApi api("Yes. " + kLamp + "\n" + kBell);
  Json body{{"model", "m"}, {"input", "light"}, {"stream", true}};
  for (const char* name : {"lamp", "bell"}) {
    body["tools"].push_back({{"type", "function"}, {"name", name}});
  }
  FakeReply reply;
  api.api.handle({.method = "POST", .path = "/v1/responses", .body = body.dump()}, reply,
                 api.stop.get_token());
  std::vector<std::string> kinds = reply.event_types;  // a text may come in several parts
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  EXPECT_THAT(
      kinds,
      testing::ElementsAre(
          "response.created", "response.in_progress", "response.output_item.added",
          "response.content_part.added", "response.output_text.delta", "response.output_text.done",
          "response.content_part.done", "response.output_item.done", "response.output_item.added",
          "response.function_call_arguments.delta", "response.function_call_arguments.done",
          "response.output_item.done", "response.output_item.added",
          "response.function_call_arguments.delta", "response.function_call_arguments.done",
          "response.output_item.done", "response.completed"));
  const Json output = Json::parse(reply.events.back())["response"]["output"];
  EXPECT_EQ(output[0]["content"][0]["text"], "Yes.");
  EXPECT_EQ(output[1]["type"], "function_call");
  EXPECT_EQ(output[1]["name"], "lamp");
  EXPECT_EQ(output[1]["arguments"], R"({"on":true})");
  EXPECT_EQ(output[2]["name"], "bell");
  EXPECT_NE(output[1]["call_id"], output[2]["call_id"]);
}

TEST(ToolAnswers, WithoutTextHaveNoContent) {
  EXPECT_TRUE(ToolApi(kLamp).ask()["message"]["content"].is_null());
}

TEST(ToolAnswers, HaveCallsThatAreWrittenOut) {
  for (const std::string call :
       {"```json\n{\n  \"name\": \"lamp\",\n  \"arguments\": {\"on\": true}\n}\n```",
        "{{\"name\": \"lamp\", \"arguments\": {\"on\": true}}}"}) {
    const Json message = ToolApi("Yes. " + call).ask()["message"];
    EXPECT_EQ(message["content"], "Yes.") << call;
    ASSERT_EQ(message["tool_calls"].size(), 1u) << call;
    EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], R"({"on":true})");
  }
}

TEST(ToolAnswers, NameOnlyWhatTheHomeHas) {
  const auto named = [](bool is_constrained, const std::string& name) {
    ToolApi api(R"(<tool_call>{"name": "HassTurnOn", "arguments": {"name": ")" + name +
                R"("}}</tool_call>)");
    api.config.tools.constrain_names = is_constrained;
    const Json parameters{{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}}}};
    const Json choice =
        api.ask({{"messages",
                  {{{"role", "system"},
                    {"content", "Static Context:\n- names: Lamp, Spot\n  domain: light"}},
                   {{"role", "user"}, {"content", "light"}}}},
                 {"max_tokens", 90},
                 {"tools",
                  {{{"type", "function"},
                    {"function", {{"name", "HassTurnOn"}, {"parameters", parameters}}}}}}});
    const Json arguments =
        Json::parse(choice["message"]["tool_calls"][0]["function"]["arguments"].get<std::string>());
    return arguments["name"].get<std::string>();
  };
  EXPECT_EQ(named(false, "Spoon"), "Spoon");
  EXPECT_EQ(named(true, "Spot"), "Spot");
  const std::string forced = named(true, "Spoon");
  EXPECT_TRUE(forced == "Lamp" || forced == "Spot") << forced;
}

TEST(ToolAnswers, StreamTextAndThenCalls) {
  ToolApi api("Yes. " + kLamp + kBell);
  std::string content, arguments;
  std::vector<std::string> names;
  const std::vector<Json> choices = api.stream();
  for (const Json& choice : choices) {
    EXPECT_EQ(choice.dump().find("tool_call>"), std::string::npos);
    content += choice["delta"].value("content", "");
    if (!choice["delta"].contains("tool_calls")) continue;
    const Json call = choice["delta"]["tool_calls"][0];
    if (call.contains("id")) {
      EXPECT_EQ(call["index"], names.size());
      names.push_back(call["function"]["name"]);
    }
    EXPECT_EQ(call["index"], names.size() - 1);
    arguments += call["function"]["arguments"].get<std::string>();
  }
  EXPECT_EQ(content, "Yes.");
  EXPECT_EQ(names, (std::vector<std::string>{"lamp", "bell"}));
  EXPECT_EQ(arguments, R"({"on":true}{})");
  EXPECT_EQ(choices.back()["finish_reason"], "tool_calls");
  size_t num_texts = 0;  // it did not wait for the call
  for (const Json& choice : choices) num_texts += choice["delta"].value("content", "") != "";
  EXPECT_GT(num_texts, 1u);
}

TEST(ToolAnswers, HaveNoCallThatIsBroken) {
  ToolApi api(R"(Hm. <tool_call>{"name": "oven", "arguments": {}}</tool_call> So.)");
  const Json choice = api.ask({{"max_tokens", 60}});
  EXPECT_EQ(choice.dump().find("oven"), std::string::npos);
  EXPECT_THAT(choice["message"]["content"].get<std::string>(), HasSubstr("Hm."));
}

TEST(ToolAnswers, GiveBackACallThatIsCutOff) {
  const Json cut = ToolApi(kLamp).ask({{"max_tokens", 30}});
  EXPECT_EQ(cut["message"]["content"], kLamp.substr(0, 30));
  EXPECT_EQ(cut["finish_reason"], "length");
}

TEST(ToolAnswers, MayBeMadeToHaveACall) {
  for (const Json& choice :
       {Json("required"), Json{{"type", "function"}, {"function", {{"name", "lamp"}}}}}) {
    const Json answer = ToolApi(kWholeLamp).ask({{"tool_choice", choice}});
    ASSERT_EQ(answer["finish_reason"], "tool_calls") << answer;
    EXPECT_TRUE(answer["message"]["content"].is_null());
    EXPECT_EQ(answer["message"]["tool_calls"][0]["function"]["arguments"], R"({"on":true})");
  }
  const Json refused =
      ToolApi(kWholeLamp)
          .ask({{"tool_choice", {{"type", "function"}, {"function", {{"name", "oven"}}}}}});
  EXPECT_EQ(refused["param"], "tool_choice");
}

TEST(ToolAnswers, AreInTheFormThatIsWanted) {
  const Json schema{{"type", "object"},
                    {"properties", {{"on", {{"type", "boolean"}}}}},
                    {"required", {"on"}},
                    {"additionalProperties", false}};
  Json form{{"type", "json_schema"}, {"json_schema", {{"name", "n"}, {"schema", schema}}}};
  const Json none{{"tools", Json::array()}, {"response_format", form}};
  EXPECT_EQ(ToolApi(R"({"on": true})").ask(none)["message"]["content"], R"({"on": true})");
  const Json held = ToolApi("I do not know.").ask(none);
  EXPECT_TRUE(Json::parse(held["message"]["content"].get<std::string>())["on"].is_boolean());
  EXPECT_EQ(ToolApi(kWholeLamp).ask({{"response_format", form}})["finish_reason"], "tool_calls");
  form["json_schema"]["schema"]["not"] = Json::object();
  const Json refused = ToolApi("x").ask({{"response_format", form}});
  EXPECT_EQ(refused["param"], "response_format");
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("'not'"));
}

TEST(ToolAnswers, EndWithTheFirstCallWhereOneIsWanted) {
  ToolApi api(kLamp + kBell + "and so on");
  const Json choice = api.ask({{"parallel_tool_calls", false}});
  EXPECT_EQ(choice["message"]["tool_calls"].size(), 1u);
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_TRUE(choice["message"]["content"].is_null());
}

TEST(ToolAnswers, AreTextWhereNoCallIsWanted) {
  ToolApi api(kLamp);
  EXPECT_EQ(api.ask({{"tool_choice", "none"}})["message"]["content"], kLamp);
  EXPECT_EQ(api.ask({{"tools", Json::array()}})["message"]["content"], kLamp);
}

TEST(ToolAnswers, EndAtAStopStringInFrontOfACall) {
  const Json choice = ToolApi("One. Two. " + kLamp).ask({{"stop", "Two"}});
  EXPECT_EQ(choice["message"]["content"], "One. ");
  EXPECT_FALSE(choice["message"].contains("tool_calls"));
}

TEST(ToolAnswers, TellProbabilitiesOfAllTheirTokens) {
  ToolApi api("It is <on>.");
  const Json more{{"logprobs", true}, {"top_logprobs", 2}};
  const Json whole = api.ask(more)["logprobs"]["content"];
  std::string text;
  for (const Json& one : whole) {
    text += one["token"].get<std::string>();
    EXPECT_EQ(one["top_logprobs"].size(), 2u);
    EXPECT_EQ(one["top_logprobs"][0]["token"], one["token"]);
    EXPECT_LT(one["logprob"], 0);
  }
  EXPECT_EQ(text, "It is <on>.");
  Json streamed = Json::array();
  for (const Json& choice : api.stream(more)) {
    if (!choice["logprobs"].is_null()) {
      for (const Json& one : choice["logprobs"]["content"]) streamed.push_back(one);
    }
  }
  EXPECT_EQ(streamed, whole);
  EXPECT_TRUE(api.ask()["logprobs"].is_null());
}

TEST(ToolAnswers, FollowWhatAFunctionSaid) {
  ToolApi api("It is on.");
  Json messages = Json::parse(R"([{"role": "user", "content": "light"},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "lamp", "arguments": "{\"on\": true}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "bright"}])");
  EXPECT_EQ(api.ask({{"messages", messages}})["message"]["content"], "It is on.");
  EXPECT_THAT(api.house.last_prompt(),
              HasSubstr(R"("arguments": {"on":true}}</tool_call><end><user><c1>bright<end>)"));
}

TEST(ToolAnswers, NeedAModelThatHasThem) {
  ToolApi api("x");
  api.house.tokenizer = FakeTokenizer(kWords, ToolFormat::kNone);
  const Json error = api.ask();
  EXPECT_EQ(error["param"], "tools");
  EXPECT_EQ(error["code"], "unsupported_value");
  EXPECT_EQ(api.ask({{"tools", nullptr}})["message"]["content"], "x");
  const Json messages = Json::parse(R"([{"role": "assistant", "tool_calls": [{"id": "c1",
      "type": "function", "function": {"name": "lamp", "arguments": "{}"}}]}])");
  EXPECT_EQ(api.ask({{"tools", nullptr}, {"messages", messages}})["param"], "messages");
}

}  // namespace
}  // namespace predgen::serve

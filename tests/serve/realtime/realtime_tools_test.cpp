#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/waiting.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kCall = R"(<tool_call>{"name": "lamp", "arguments": {"on": true}}</tool_call>)";

/// Calls a function where it is asked for light, and says what that has said.
std::string switch_lamp(const std::string& user) {
  if (const size_t end = user.find('>'); end != std::string::npos) {
    return "It says " + user.substr(end + 1) + ".";
  }
  return user.find("light") == std::string::npos ? "You said: " + user + "." : kCall;
}

Json lamp() {
  return Json::array({{{"type", "function"},
                       {"name", "lamp"},
                       {"description", "Switches a lamp."},
                       {"parameters", {{"type", "object"}}}}});
}

struct LampHouse : House {
  explicit LampHouse(bool has_voice = false) : House(has_voice) {
    answer = switch_lamp;
    host.session.turn.max_new_tokens = host.session.turn.max_draft_tokens = 200;
    host.offer.has_tools = true;
  }
};

struct LampTalk : Talk {
  explicit LampTalk(House& house) : Talk(house) {
    update({{"tools", lamp()}});
    updated = client.next("session.updated")["session"];
  }
  void answer_call(const std::string& id, const std::string& output) {
    send({{"type", "conversation.item.create"},
          {"item", {{"type", "function_call_output"}, {"call_id", id}, {"output", output}}}});
  }
  Json updated;
};

/// Waits until the model has drafted this.
void await_draft(House& house, const std::string& drafted) {
  ASSERT_TRUE(comes_true([&] { return house.was_asked("", drafted); }))
      << "no draft has " << drafted;
}

bool has_raw_call(const std::vector<Json>& events) {
  return std::ranges::any_of(events, [](const Json& event) {
    return event.dump().find("tool_call>") != std::string::npos;
  });
}

TEST(RealtimeTools, ACallIsAnItemAndItsAnswerIsGoneOnWith) {
  LampHouse house;
  LampTalk talk(house);
  EXPECT_EQ(talk.updated["tools"], lamp());
  talk.say("light, please");
  talk.respond();
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_FALSE(has_raw_call(events));
  EXPECT_THAT(
      types_of(events),
      ElementsAre("conversation.item.added", "conversation.item.done", "response.created",
                  "response.output_item.added", "conversation.item.added",
                  "response.function_call_arguments.delta", "response.function_call_arguments.done",
                  "response.output_item.done", "conversation.item.done", "response.done"));
  const Json& done = events.at(events.size() - 4);
  EXPECT_EQ(done["name"], "lamp");
  EXPECT_EQ(done["arguments"], R"({"on":true})");
  const Json response = events.back()["response"];
  ASSERT_EQ(response["output"].size(), 1u);
  const Json item = response["output"][0];
  EXPECT_EQ(item["type"], "function_call");
  EXPECT_EQ(item["call_id"], done["call_id"]);
  EXPECT_EQ(response["status"], "completed");

  talk.answer_call(item["call_id"], "bright");
  EXPECT_EQ(talk.client.next("conversation.item.done")["item"]["output"], "bright");
  talk.respond();
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "It says bright.");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<system>[{\"type\":\"function\""));
  EXPECT_THAT(house.last_prompt(), HasSubstr("light, please<end><assistant>" +
                                             std::string(R"(<tool_call>{"name": "lamp")")));
  EXPECT_EQ(text_of(talk.ask("Thanks")), "You said: Thanks.");
}

TEST(RealtimeTools, TextInFrontOfACallIsAMessage) {
  LampHouse house;
  house.answer = [](const std::string&) { return "I do. " + kCall + " Soon."; };
  LampTalk talk(house);
  talk.say("light");
  talk.respond();
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_FALSE(has_raw_call(events));
  const Json output = events.back()["response"]["output"];
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0]["content"][0]["text"], "I do. Soon.");
  EXPECT_EQ(output[1]["name"], "lamp");
}

TEST(RealtimeTools, NothingOfADraftedCallLeavesBeforeTheTurnEnds) {
  LampHouse house(/*has_voice=*/true);
  LampTalk talk(house);
  talk.update({{"predgen", {{"events", {"speculation", "sentence"}}}}});
  talk.client.next("session.updated");
  talk.hear("light");
  await_draft(house, "</tool_call>");
  talk.hear("light, please", /*end_of_turn=*/true);
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_FALSE(has_raw_call(events));
  EXPECT_THAT(types_of(events), Not(Contains("predgen.sentence.ready")));
  EXPECT_THAT(types_of(events), Not(Contains("response.function_call.predicted")));
  EXPECT_THAT(types_of(events), Not(Contains("response.output_audio.delta")));
  for (const Json& event : events) {
    const bool is_call = event["type"] == "response.function_call_arguments.done";
    EXPECT_FALSE(is_call && event.value("response_id", "").empty());
    if (event["type"] == "predgen.speculation.draft") {
      EXPECT_EQ(event["drafted"], "");
    }
  }
  EXPECT_EQ(events.back()["response"]["output"].at(0)["name"], "lamp");
}

TEST(RealtimeTools, ACallIsPredictedToWhoAsksOnceLaterWordsHaveKeptIt) {
  LampHouse house;
  LampTalk talk(house);
  talk.update({{"predgen", {{"events", {"calls"}}}}});
  talk.client.next("session.updated");
  talk.hear("light");
  await_draft(house, "</tool_call>");
  talk.hear("light, please");
  const Json predicted = talk.client.next("response.function_call.predicted");
  EXPECT_EQ(predicted["name"], "lamp");
  EXPECT_FALSE(predicted.contains("call_id"));  // it is not made yet
  talk.hear("light, please", /*end_of_turn=*/true);
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_EQ(events.back()["response"]["output"].at(0)["arguments"], predicted["arguments"]);
  EXPECT_THAT(types_of(events), Not(Contains("response.function_call.predicted")));
  EXPECT_THAT(house.metrics.text({}),
              HasSubstr("predgen_predicted_calls_total{outcome=\"kept\"} 1\n"));
}

TEST(RealtimeTools, NothingInACallIsAboutRight) {
  LampHouse house;
  house.host.session.verifier = {.name = "topk", .top_k = 1000};  // any word will do
  house.answer = [](const std::string& user) {
    const std::string room = user.substr(user.rfind(' ') + 1);
    return R"(<tool_call>{"name": "lamp", "arguments": {"room": ")" + room + "\"}}</tool_call>";
  };
  LampTalk talk(house);
  talk.hear("light in here");
  await_draft(house, "here\"}}</tool_call>");
  talk.hear("light in there", /*end_of_turn=*/true);
  const Json item = talk.client.next("response.done")["response"]["output"].at(0);
  EXPECT_EQ(item["arguments"], R"({"room":"there"})");
}

TEST(RealtimeTools, ACallThatIsCutOffIsTextButIsNotSpoken) {
  LampHouse house(/*has_voice=*/true);
  house.answer = [](const std::string&) {
    return R"(Wait. <tool_call>{"name": "lamp", "arguments": {"a": ")" + std::string(400, 'x');
  };
  LampTalk talk(house);
  talk.say("light");
  talk.respond();
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_THAT(text_of(events.back()["response"]),
              HasSubstr("Wait. <tool_call>{\"name\": \"lamp\""));
  size_t size = 0;  // of "Wait."
  for (const Json& event : events) {
    if (event["type"] == "response.output_audio.delta") {
      size += event["delta"].get<std::string>().size();
    }
  }
  const size_t num_bytes = 2 * RealtimeVoice::kChunk * RealtimeVoice::kChunksPerSentence;
  EXPECT_EQ(size, (num_bytes + 2) / 3 * 4);
}

TEST(RealtimeTools, ACallMayBeRequired) {
  LampHouse house;
  house.answer = [](const std::string&) { return "No, I will not."; };
  LampTalk talk(house);
  talk.update({{"tool_choice", {{"type", "function"}, {"name", "oven"}}}});
  EXPECT_EQ(talk.client.next("predgen.warning")["warning"]["refused"][0]["param"],
            "session.tool_choice");
  talk.update({{"tool_choice", "required"}});
  EXPECT_EQ(talk.client.next("session.updated")["session"]["tool_choice"], "auto");
  EXPECT_EQ(talk.client.next("session.updated")["session"]["tool_choice"], "required");
  talk.say("light");
  talk.respond();
  for (const Json& event : talk.client.until("response.done")) {
    EXPECT_NE(event["type"], "response.output_audio.delta");
    EXPECT_EQ(event.dump().find("No, I"), std::string::npos);
  }
}

TEST(RealtimeTools, WhereTheyAreSwitchedOffAllIsText) {
  LampHouse house;
  LampTalk talk(house);
  talk.update({{"tool_choice", "none"}});
  const Json session = talk.client.next("session.updated")["session"];
  EXPECT_EQ(session["tool_choice"], "none");
  EXPECT_EQ(session["tools"], lamp());
  EXPECT_EQ(text_of(talk.ask("light")), kCall);
  EXPECT_THAT(house.last_prompt(), Not(HasSubstr("Switches")));
  talk.say("light");
  talk.send({{"type", "response.create"}, {"response", {{"tool_choice", "auto"}}}});
  EXPECT_EQ(talk.client.next("response.done")["response"]["output"][0]["type"], "function_call");
}

TEST(RealtimeTools, WhatTheUserSaysMeanwhileComesAfterTheAnswerOfTheFunction) {
  LampHouse house;
  LampTalk talk(house);
  const Json call = talk.ask("light")["output"][0];
  talk.say("Hello?");
  talk.answer_call(call["call_id"], "dark");
  EXPECT_EQ(text_of(talk.ask("Well")), "You said: Hello?\nWell.");
  EXPECT_THAT(house.last_prompt(), HasSubstr(">dark<end><user>Hello?\nWell<end>"));
}

TEST(RealtimeTools, WhatDoesNotFitIsRefused) {
  LampHouse house;
  LampTalk talk(house);
  talk.answer_call("nobody", "x");
  EXPECT_EQ(talk.error_code(), "invalid_value");
  const auto refused = [&] { return talk.client.next("predgen.warning")["warning"]["refused"][0]; };
  talk.update({{"tool_choice", {{"type", "function"}, {"name", "nobody"}}}});
  EXPECT_EQ(refused()["param"], "session.tool_choice");
  house.host.offer.has_tools = false;
  talk.update({{"tools", lamp()}});
  const Json tools = refused();
  EXPECT_EQ(tools["code"], "unsupported_value");
  EXPECT_EQ(tools["param"], "session.tools");
  talk.answer_call("c1", "x");
  EXPECT_EQ(talk.error_code(), "unsupported_value");
  talk.send({{"type", "conversation.item.create"},
             {"item", {{"type", "function_call"}, {"name", "lamp"}, {"arguments", "{}"}}}});
  EXPECT_EQ(talk.error_code(), "unsupported_value");
}

TEST(RealtimeTools, AClientCanTellOfEarlierCalls) {
  LampHouse house;
  LampTalk talk(house);
  talk.say("light");
  talk.send({{"type", "conversation.item.create"},
             {"item",
              {{"type", "function_call"},
               {"call_id", "c1"},
               {"name", "lamp"},
               {"arguments", R"({"on": false})"}}}});
  talk.answer_call("c1", "off");
  talk.respond();
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "It says off.");
  EXPECT_THAT(house.last_prompt(), HasSubstr(R"("arguments": {"on":false}}</tool_call><end>)"));
}

}  // namespace
}  // namespace predgen::serve

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "core/base64.h"
#include "tests/fakes/fake_tools.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

using act::ToolResult;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string written_call_of(const std::string& name) {
  return R"(<tool_call>{"name": ")" + name + R"(", "arguments": {}}</tool_call>)";
}

/// A server with a lamp of its own. "light" calls it at once, "slow" after a word, "bell" a
/// function of the client, "both" both in one message; then the answer is what was said last.
std::string call_own_lamp(const std::string& user) {
  if (const size_t end = user.find('>'); end != std::string::npos) {
    return "It says " + user.substr(end + 1) + ".";
  }
  if (user.starts_with("light")) return written_call_of("lamp");
  if (user.starts_with("slow")) return "Yes. " + written_call_of("lamp");
  if (user.starts_with("bell")) return written_call_of("bell");
  if (user.starts_with("both")) return "Yes. " + written_call_of("bell") + written_call_of("lamp");
  return "You said: " + user + ".";
}

struct HouseWithLamp : House {
  explicit HouseWithLamp(bool has_voice = false) : House(has_voice) {
    answer = call_own_lamp;
    host.session.turn.max_new_tokens = host.session.turn.max_draft_tokens = 200;
    host.offer.has_tools = true;
    host.tools = &own;
  }
  size_t num_calls() {
    const Lock lock(lamp.mutex);
    return lamp.calls.size();
  }

  FakeTools lamp;
  OwnTools own{.runner = lamp};
};

/// A client, which may have a bell.
struct ClientOfLamp : Talk {
  explicit ClientOfLamp(HouseWithLamp& server, const Json& session = Json::object(),
                        const std::string& key = "")
      : Talk(server, /*is_beta=*/false, key) {
    update(session);
    client.next("session.updated");
  }
  void answer_call(const std::string& id, const std::string& output) {
    send({{"type", "conversation.item.create"},
          {"item", {{"type", "function_call_output"}, {"call_id", id}, {"output", output}}}});
  }
  /// All events of a turn that is said.
  std::vector<Json> events_of(const std::string& text) {
    say(text);
    respond();
    return client.until("response.done");
  }
};

const Json kBellOfClient{{"tools", Json::array({{{"type", "function"}, {"name", "bell"}}})}};
const Json kToolEvents{{"predgen", {{"events", {"tools", "calls"}}}}};

std::vector<std::string> states_of_calls(const std::vector<Json>& events) {
  std::vector<std::string> states;
  for (const Json& event : events) {
    if (event["type"] == "predgen.tool_call") states.push_back(event["state"]);
  }
  return states;
}

TEST(RealtimeOwnTools, RunUnseenWithinAResponse) {
  HouseWithLamp server;
  ClientOfLamp client(server);
  const std::vector<Json> events = client.events_of("slow");
  const Json response = events.back()["response"];
  EXPECT_EQ(response["output"].size(), 1u);
  EXPECT_EQ(text_of(response), "Yes. It says on.");
  EXPECT_EQ(response["status"], "completed");
  for (const Json& event : events) EXPECT_THAT(event.dump(), Not(HasSubstr("lamp")));
  EXPECT_EQ(server.num_calls(), 1u);
  EXPECT_THAT(server.metrics.text({}), HasSubstr("predgen_tool_calls_total{outcome=\"done\"} 1\n"));
  // Whatever the client adds: the history is the conversation that was.
  EXPECT_EQ(text_of(client.ask("Thanks")), "You said: Thanks.");
  EXPECT_THAT(server.last_prompt(),
              HasSubstr("<user>slow<end><assistant>Yes." + written_call_of("lamp") +
                        "<end><user><call00000>on<end><assistant>It says "
                        "on.<end><user>Thanks<end>"));
  EXPECT_GT(response["usage"]["output_tokens"], 20);  // both rounds
}

TEST(RealtimeOwnTools, AreForTheKeysThatMayUseThem) {
  HouseWithLamp server;
  server.own.config.api_keys_sha256 = {"known"};
  ClientOfLamp other(server, Json::object(), "other");
  other.ask("slow");
  EXPECT_EQ(server.num_calls(), 0u);
  EXPECT_FALSE(server.was_asked("", R"("name":"lamp")"));
  ClientOfLamp known(server, Json::object(), "known");
  EXPECT_EQ(text_of(known.ask("slow")), "Yes. It says on.");
  EXPECT_EQ(server.num_calls(), 1u);
}

TEST(RealtimeOwnTools, AClientsStayTheClients) {
  HouseWithLamp server;
  ClientOfLamp client(server, kBellOfClient);
  const std::vector<Json> events = client.events_of("both");
  const Json output = events.back()["response"]["output"];
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0]["content"][0]["text"], "Yes.");
  EXPECT_EQ(output[1]["name"], "bell");
  for (const Json& event : events) EXPECT_THAT(event.dump(), Not(HasSubstr("lamp")));
  EXPECT_EQ(server.num_calls(), 1u);
  client.answer_call(output[1]["call_id"], "rings");
  client.respond();
  EXPECT_EQ(text_of(client.client.next("response.done")["response"]), "It says rings.");
  EXPECT_THAT(server.last_prompt(),
              HasSubstr("Yes." + written_call_of("bell") + written_call_of("lamp") +
                        "<end><user><call00001>on"));
  EXPECT_THAT(server.last_prompt(), HasSubstr(">rings<end><assistant>It says"));
  // Without its call, what the server did remains.
  client.send({{"type", "conversation.item.delete"}, {"item_id", output[1]["id"]}});
  client.ask("Thanks");
  EXPECT_THAT(server.last_prompt(), HasSubstr("Yes." + written_call_of("lamp") +
                                              "<end><user><call00001>on<end><assistant>"));
}

TEST(RealtimeOwnTools, AClientsCallMayFollowAResultOfOurs) {
  HouseWithLamp server;
  server.answer = [](const std::string& user) {
    return user.ends_with(">on") ? "Then: " + written_call_of("bell") : call_own_lamp(user);
  };
  ClientOfLamp client(server, kBellOfClient);
  const Json output = client.ask("slow")["output"];
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0]["content"][0]["text"], "Yes. Then:");
  client.answer_call(output[1]["call_id"], "rings");
  client.respond();
  client.client.next("response.done");
  EXPECT_THAT(server.last_prompt(), HasSubstr("Yes." + written_call_of("lamp") +
                                              "<end><user><call00000>on<end><assistant>Then:" +
                                              written_call_of("bell") + "<end><user>"));
}

TEST(RealtimeOwnTools, GiveWayToAClientsOfTheSameNameAndToItsChoice) {
  HouseWithLamp server;
  const Json lamp{{"tools", Json::array({{{"type", "function"}, {"name", "lamp"}}})}};
  ClientOfLamp none(server, {{"tool_choice", "none"}});
  none.ask("slow");
  EXPECT_TRUE(server.was_asked("<user>slow<end><assistant>", "Yes."));  // without tools in front
  ClientOfLamp same(server, lamp);
  EXPECT_EQ(same.ask("slow")["output"][1]["name"], "lamp");
  EXPECT_EQ(server.num_calls(), 0u);
}

/// Waits until the model has drafted this.
void await_drafted(HouseWithLamp& server, const std::string& text) {
  ASSERT_TRUE(comes_true([&] { return server.was_asked("", text); })) << "no draft has " << text;
}

TEST(RealtimeOwnTools, ReadWhileTheUserSpeaks) {
  for (const bool is_kept : {true, false}) {
    HouseWithLamp server;
    server.lamp.offered[0].effects = act::Effects::kRead;
    ClientOfLamp client(server, kToolEvents);
    client.hear("light a");
    await_drafted(server, "</tool_call>");
    client.hear("light a b");
    ASSERT_TRUE(comes_true([&] { return server.num_calls() == 1; }));
    await_drafted(server, "It says on");
    client.hear(is_kept ? "light a b" : "No light", /*end_of_turn=*/true);
    const std::vector<Json> events = client.client.until("response.done");
    EXPECT_EQ(text_of(events.back()["response"]), is_kept ? "It says on." : "You said: No light.");
    EXPECT_EQ(server.num_calls(), 1u);
    EXPECT_THAT(states_of_calls(events), Contains("drafted"));
    EXPECT_EQ(states_of_calls(events).back(), is_kept ? "kept" : "discarded");
    EXPECT_THAT(types_of(events), Not(Contains("response.function_call.predicted")));
    EXPECT_THAT(server.metrics.text({}),
                HasSubstr(std::string("predgen_early_calls_total{outcome=\"") +
                          (is_kept ? "kept" : "discarded") + "\"} 1\n"));
  }
}

TEST(RealtimeOwnTools, NothingWithEffectsRunsBeforeTheTurnEnds) {
  HouseWithLamp server;
  ClientOfLamp client(server, kToolEvents);
  client.hear("light a");
  await_drafted(server, "</tool_call>");
  client.hear("light a b");
  client.hear("light a b c");
  await_drafted(server, "light a b c<end><assistant>" + written_call_of("lamp"));
  EXPECT_EQ(server.num_calls(), 0u);
  client.hear("light a b c", /*end_of_turn=*/true);
  const std::vector<Json> events = client.client.until("response.done");
  EXPECT_EQ(server.num_calls(), 1u);
  EXPECT_EQ(states_of_calls(events).back(), "done");
  EXPECT_EQ(states_of_calls(events).at(states_of_calls(events).size() - 2), "running");
}

/// A lamp that switches once the call is cancelled.
void hold_lamp(HouseWithLamp& server) {
  server.lamp.answer = [](const std::string&, const std::stop_token& stop, const auto&) {
    EXPECT_TRUE(comes_true([&] { return stop.stop_requested(); }));
    return ToolResult{ToolResult::Status::kCancelled, "Cancelled, perhaps too late."};
  };
}

TEST(RealtimeOwnTools, WhoBreaksInCancelsWhatRunsAndTheHistorySaysSo) {
  for (const std::string word : {"light", "slow"}) {
    HouseWithLamp server;
    hold_lamp(server);
    ClientOfLamp client(server);
    client.say(word);
    client.respond();
    ASSERT_TRUE(comes_true([&] { return server.num_calls() == 1; }));
    client.send({{"type", "response.cancel"}});
    const Json done = client.client.next("response.done")["response"];
    EXPECT_EQ(done["status"], "cancelled");
    EXPECT_EQ(done["output"].at(0)["status"], "incomplete");
    EXPECT_EQ(text_of(done), word == "slow" ? "Yes." : "");
    // It is not asked again, for the lamp may have been switched.
    EXPECT_EQ(text_of(client.ask("Thanks")), "You said: Thanks.");
    EXPECT_THAT(
        server.last_prompt(),
        HasSubstr("<user>" + word + "<end><assistant>" + text_of(done) + written_call_of("lamp") +
                  "<end><user><call00000>Cancelled, perhaps too late.<end>"
                  "<user>Thanks<end>"));
    EXPECT_THAT(server.metrics.text({}),
                HasSubstr("predgen_tool_calls_total{outcome=\"cancelled\"} 1\n"));
  }
}

TEST(RealtimeOwnTools, AVoiceThatBreaksInBeforeAnySoundDoesSoToo) {
  HouseWithLamp server(/*has_voice=*/true);
  RecogniserDesk desk;
  server.host.make_recogniser = desk.make;
  server.host.offer.has_recogniser = true;
  hold_lamp(server);
  ClientOfLamp client(server);
  client.say("light");
  client.respond();
  ASSERT_TRUE(comes_true([&] { return server.num_calls() == 1; }));
  client.send(
      {{"type", "input_audio_buffer.append"}, {"audio", to_base64(std::string(48000, '\0'))}});
  desk.hear("Thanks");
  EXPECT_EQ(client.client.next("response.done")["response"]["status"], "cancelled");
  desk.hear("Thanks", /*is_over=*/true);
  client.send(
      {{"type", "input_audio_buffer.append"}, {"audio", to_base64(std::string(24000, '\0'))}});
  EXPECT_EQ(text_of(client.client.next("response.done")["response"]), "You said: Thanks.");
  EXPECT_THAT(server.last_prompt(),
              HasSubstr("Cancelled, perhaps too late.<end><user>Thanks<end>"));
  EXPECT_EQ(server.num_calls(), 1u);
}

TEST(RealtimeOwnTools, OneThatAsksIsCalledAfterAYes) {
  HouseWithLamp server;
  server.lamp.offered[0].asks = true;
  ClientOfLamp client(server, kToolEvents);
  const std::vector<Json> asked = client.events_of("slow");
  EXPECT_EQ(text_of(asked.back()["response"]), "Yes. Shall I call lamp?");
  EXPECT_EQ(states_of_calls(asked).back(), "asked");
  EXPECT_EQ(server.num_calls(), 0u);
  EXPECT_EQ(text_of(client.ask("Yes, please.")), "It says on.");
  EXPECT_EQ(server.num_calls(), 1u);
  client.ask("Thanks");
  EXPECT_THAT(
      server.last_prompt(),
      HasSubstr("Shall I call lamp?<end><user>Yes, please.<end><assistant>" +
                written_call_of("lamp") + "<end><user><call00001>on<end><assistant>It says on."));
}

TEST(RealtimeOwnTools, ACallIsForWhatTheUserNames) {
  for (const bool is_constrained : {true, false}) {
    HouseWithLamp server;
    server.own.config.constrain_names = is_constrained;
    server.lamp.home = "- names: Lamp\n  domain: light\n- names: Fan\n  domain: fan\n";
    server.lamp.offered[0].name = server.lamp.offered[0].own_name = "HassTurnOn";
    server.lamp.offered[0].parameters =
        Json::parse(R"({"type": "object", "properties": {"name": {"type": "string"}}})");
    server.answer = [](const std::string& user) -> std::string {
      if (user.find('>') != std::string::npos) return "It is on.";
      return R"(<tool_call>{"name": "HassTurnOn", "arguments": {"name": "Lamp"}}</tool_call>)";
    };
    ClientOfLamp client(server);
    client.ask("The fan, please.");
    client.ask("Turn it on.");
    const std::string fan = is_constrained ? "Fan" : "Lamp";
    EXPECT_EQ(server.lamp.calls, (std::vector<std::string>{"HassTurnOn {\"name\":\"" + fan + "\"}",
                                                           "HassTurnOn {\"name\":\"Lamp\"}"}));
  }
}

TEST(RealtimeOwnTools, NobodySaysThatAFailedCallWorked) {
  HouseWithLamp server;
  server.answer = [](const std::string& user) {
    return user.find('>') == std::string::npos ? call_own_lamp(user) : "Done, it is on!";
  };
  server.lamp.answer = [](const std::string&, const std::stop_token&, const auto&) {
    return ToolResult{ToolResult::Status::kUnavailable, "Error: gone"};
  };
  ClientOfLamp client(server);
  const std::string said = "Sorry, that was not done: there is no connection to home.";
  const Json response = client.ask("light");
  EXPECT_EQ(text_of(response), said);
  EXPECT_EQ(response["status"], "completed");
  client.ask("Thanks");
  EXPECT_THAT(server.last_prompt(),
              HasSubstr("<call00000>Error: gone<end><assistant>" + said + "<end><user>Thanks"));
}

TEST(RealtimeOwnTools, WhatTheyDidOutlivesAVoiceThatIsLost) {
  HouseWithLamp server(/*has_voice=*/true);
  server.broken_sentence = "It says on.";
  ClientOfLamp client(server);
  EXPECT_EQ(client.ask("light")["status"], "failed");
  client.ask("Thanks");
  EXPECT_THAT(server.last_prompt(),
              HasSubstr("<user>light<end><assistant>" + written_call_of("lamp") +
                        "<end><user><call00000>on<end>"));
}

}  // namespace
}  // namespace predgen::serve

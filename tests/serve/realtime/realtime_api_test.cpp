#include "serve/realtime/realtime_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <semaphore>

#include "tests/fakes/waiting.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(RealtimeConnection, SaysWhatItsSessionIs) {
  House house;
  Talk talk(house);
  EXPECT_EQ(talk.created["type"], "session.created");
  EXPECT_TRUE(talk.created["event_id"].get<std::string>().starts_with("event_"));
  EXPECT_EQ(talk.created["session"]["model"], "m");
  EXPECT_EQ(talk.created["session"]["output_modalities"], Json::array({"text"}));
  talk.update({{"type", "realtime"}, {"instructions", "Be brief."}});
  const Json updated = talk.client.next("session.updated");
  EXPECT_EQ(updated["session"]["instructions"], "Be brief.");
  EXPECT_EQ(updated["session"]["id"], talk.created["session"]["id"]);
}

TEST(RealtimeConnection, AnswersAMessageInTheOrderOfTheProtocol) {
  House house;
  Talk talk(house);
  talk.say("hello", "mine");
  talk.respond();
  const std::vector<Json> events = talk.client.until("response.done");
  EXPECT_THAT(types_of(events),
              ElementsAre("conversation.item.added", "conversation.item.done", "response.created",
                          "response.output_item.added", "conversation.item.added",
                          "response.content_part.added", "response.output_text.delta",
                          "response.output_text.done", "response.content_part.done",
                          "response.output_item.done", "conversation.item.done", "response.done"));
  EXPECT_EQ(events[0]["item"]["id"], "mine");
  EXPECT_EQ(events[0]["previous_item_id"], nullptr);
  const std::string text = "You said: hello. Go on!";
  std::string deltas;
  for (const Json& event : events) {
    if (event["type"] == "response.output_text.delta") deltas += event["delta"];
    if (event["type"] == "response.output_text.done") {
      EXPECT_EQ(event["text"], text);
    }
  }
  EXPECT_EQ(deltas, text);
  const Json& response = events.back()["response"];
  EXPECT_EQ(response["id"], events[2]["response"]["id"]);
  EXPECT_EQ(response["status"], "completed");
  EXPECT_EQ(text_of(response), text);
  EXPECT_EQ(response["output"][0]["status"], "completed");
  const Json& usage = response["usage"];
  EXPECT_EQ(usage["input_tokens"], 8);  // the roles and five letters
  EXPECT_EQ(usage["total_tokens"], 8 + usage["output_tokens"].get<int>());
}

TEST(RealtimeConnection, AConversationGoesOn) {
  House house;
  Talk talk(house);
  talk.ask("one");
  talk.ask("two");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<user>one<end><assistant>You said: one. Go on!<end>"
                                             "<user>two<end><assistant>"));
}

TEST(RealtimeConnection, InstructionsAndSystemMessagesAreTheSystemPrompt) {
  House house;
  Talk talk(house);
  talk.update({{"instructions", "Be brief."}});
  talk.send({{"type", "conversation.item.create"},
             {"item",
              {{"type", "message"},
               {"role", "system"},
               {"content", Json::array({{{"type", "input_text"}, {"text", "Sing."}}})}}}});
  talk.ask("one");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<system>Be brief.\n\nSing.<end><user>one<end>"));
  talk.say("two");
  talk.send({{"type", "response.create"}, {"response", {{"instructions", "Shout."}}}});
  talk.client.next("response.done");
  EXPECT_TRUE(house.was_asked("<system>Shout.\n\nSing.<end><user>one<end>", "<user>two<end>"));
  talk.ask("three");
  EXPECT_TRUE(house.was_asked("<system>Be brief.\n\nSing.<end><user>one", "<user>three<end>"));
}

TEST(RealtimeConnection, AnAnswerIsAsLongAsItMayBe) {
  House house;
  Talk talk(house);
  talk.say("one");
  talk.send({{"type", "response.create"},
             {"response", {{"max_output_tokens", 3}, {"metadata", {{"a", "b"}}}}}});
  const Json cut = talk.client.next("response.done")["response"];
  EXPECT_EQ(cut["status"], "incomplete");
  EXPECT_EQ(cut["status_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(cut["metadata"]["a"], "b");
  EXPECT_EQ(cut["usage"]["output_tokens"], 3);
  EXPECT_EQ(talk.ask("two")["status"], "completed");
}

TEST(RealtimeConnection, AnEmptyAnswerIsOne) {
  House house;
  house.answer = [](const std::string&) { return ""; };
  Talk talk(house);
  EXPECT_EQ(text_of(talk.ask("one")), "");
  EXPECT_EQ(talk.ask("two")["status"], "completed");
}

TEST(RealtimeConnection, TheAssistantSpeaksFirstIfAsked) {
  House house;
  Talk talk(house);
  talk.update({{"instructions", "You answer the phone."}});
  talk.respond();
  const Json greeting = talk.client.next("response.done")["response"];
  EXPECT_EQ(greeting["status"], "completed");
  EXPECT_EQ(house.last_prompt().find("<user>"), std::string::npos);
  EXPECT_THAT(house.last_prompt(), StartsWith("<system>You answer the phone.<end><assistant>"));
  const std::string said = text_of(greeting);
  talk.ask("one");
  EXPECT_TRUE(house.was_asked(
      "<system>You answer the phone.<end><assistant>" + said + "<end><user>one<end><assistant>",
      ""));
}

TEST(RealtimeConnection, TheAssistantSpeaksAgainByItself) {
  House house;
  Talk talk(house);
  talk.send({{"type", "response.create"}, {"response", {{"instructions", "Greet."}}}});
  const std::string greeting = text_of(talk.client.next("response.done")["response"]);
  EXPECT_TRUE(house.was_asked("<system>Greet.<end><assistant>", ""));
  const std::string first = text_of(talk.ask("one"));
  talk.send({{"type", "response.create"}, {"response", {{"instructions", "Ask again."}}}});
  const std::string again = text_of(talk.client.next("response.done")["response"]);
  EXPECT_TRUE(house.was_asked("<system>Ask again.<end>",
                              "<user>one<end><assistant>" + first + "<end><assistant>"));
  talk.ask("two");
  EXPECT_THAT(house.last_prompt(), HasSubstr(first + "\n" + again + "<end><user>two<end>"));
}

TEST(RealtimeConnection, ANothingIsSaidToATemplateThatWantsAUser) {
  struct StrictTokenizer : FakeTokenizer {
    using FakeTokenizer::FakeTokenizer;
    TokenIds render_chat(const std::vector<Message>& messages, bool add_generation_prompt,
                         const ToolSet& tools, const std::string& variables) const override {
      const bool user_is_last = !messages.empty() && messages.back().role == "user";
      if (add_generation_prompt && !user_is_last) throw UserError("a user first");
      return FakeTokenizer::render_chat(messages, add_generation_prompt, tools, variables);
    }
  };
  House house;
  const StrictTokenizer tokenizer(kWords);
  const RealtimeHost host{.engine = house.engine,
                          .engine_lock = house.engine_lock,
                          .tokenizer = tokenizer,
                          .clock = house.clock,
                          .metrics = house.metrics,
                          .session = house.host.session,
                          .offer = house.host.offer};
  FakeSender client;
  RealtimeConnection connection(host, std::nullopt);
  connection.on_open(client);
  connection.on_text(R"({"type": "response.create"})");
  EXPECT_EQ(client.next("response.done")["response"]["status"], "completed");
  connection.on_close();
  EXPECT_TRUE(house.was_asked("<user><end><assistant>", ""));
}

TEST(RealtimeConnection, EventsThatAreNoneAreRefused) {
  House house;
  Talk talk(house);
  const auto refused = [&](const std::string& message) {
    talk.connection.on_text(message);
    const Json error = talk.client.next("error")["error"];
    EXPECT_EQ(error["type"], "invalid_request_error");
    return error["code"].get<std::string>();
  };
  EXPECT_EQ(refused("{"), "invalid_json");
  EXPECT_EQ(refused(""), "invalid_json");
  EXPECT_EQ(refused("\xff"), "invalid_json");
  EXPECT_EQ(refused(std::string(100000, '[')), "invalid_json");
  EXPECT_EQ(refused("[1]"), "invalid_event");
  EXPECT_EQ(refused("null"), "invalid_event");
  EXPECT_EQ(refused("{}"), "missing_required_parameter");
  EXPECT_EQ(refused(R"({"type":5})"), "invalid_type");
  EXPECT_EQ(refused(R"({"type":"response.create","event_id":5})"), "invalid_type");
  EXPECT_EQ(refused(R"({"type":"response.create","colour":"red"})"), "unknown_parameter");
  EXPECT_EQ(refused(R"({"type":"session.update"})"), "missing_required_parameter");
  EXPECT_EQ(refused(R"({"type":"session.update","session":[]})"), "invalid_type");
  EXPECT_EQ(refused(R"({"type":"conversation.item.create"})"), "missing_required_parameter");
  EXPECT_EQ(refused(R"({"type":"conversation.item.truncate","item_id":"x"})"),
            "missing_required_parameter");
  EXPECT_EQ(refused(R"({"type":"conversation.item.truncate","item_id":"x","content_index":1,
                        "audio_end_ms":1})"),
            "unsupported_value");
  EXPECT_EQ(refused(R"({"type":"conversation.item.truncate","item_id":"x","content_index":0,
                        "audio_end_ms":-1})"),
            "invalid_value");
  for (const char* name : {"retrieve", "delete"}) {
    EXPECT_EQ(refused(fmt::format(R"({{"type":"conversation.item.{}","item_id":"x"}})", name)),
              "item_not_found");
  }
  for (const char* name : {"append", "commit", "clear"}) {
    EXPECT_EQ(refused(fmt::format(R"({{"type":"input_audio_buffer.{}"}})", name)), "no_recogniser");
  }
  EXPECT_EQ(refused(R"({"type":"response.cancel"})"), "response_cancel_not_active");
  talk.connection.on_binary();
  EXPECT_EQ(talk.error_code(), "invalid_event");
  talk.send({{"type", "response.creat"}, {"event_id", "mine"}});
  const Json error = talk.client.next("error")["error"];
  EXPECT_EQ(error["event_id"], "mine");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("response.create"));
  EXPECT_EQ(house.model.num_passes, 0);
  EXPECT_EQ(talk.ask("one")["status"], "completed");
}

TEST(RealtimeConnection, AnUpdateDoesWhatItCanAndSaysWhatItCannot) {
  House house;
  Talk talk(house);
  talk.send({{"type", "session.update"},
             {"event_id", "mine"},
             {"session",
              {{"instructions", "Be brief."}, {"tool_choice", "required"}, {"colour", "red"}}}});
  const std::vector<Json> events = talk.client.until("session.updated");
  ASSERT_THAT(types_of(events), ElementsAre("predgen.warning", "session.updated"));
  const Json& warning = events[0]["warning"];
  EXPECT_EQ(warning["event_id"], "mine");
  ASSERT_EQ(warning["refused"].size(), 2u);
  EXPECT_EQ(warning["refused"][0]["param"], "session.tool_choice");
  EXPECT_EQ(warning["refused"][1]["param"], "session.colour");
  EXPECT_THAT(warning["message"].get<std::string>(), HasSubstr("session.tool_choice"));
  EXPECT_EQ(events[1]["session"]["instructions"], "Be brief.");
  talk.say("one");
  talk.send({{"type", "response.create"}, {"response", {{"output_modalities", {"audio"}}}}});
  const std::vector<Json> answer = talk.client.until("response.done");
  EXPECT_EQ(std::ranges::count(answer, Json("predgen.warning"),
                               [](const Json& event) { return event["type"]; }),
            1);
  EXPECT_EQ(text_of(answer.back()["response"]), "You said: one. Go on!");
}

TEST(RealtimeConnection, ItemsCanBeReadDeletedAndPlaced) {
  House house;
  Talk talk(house);
  talk.say("two", "b");
  talk.send({{"type", "conversation.item.create"},
             {"previous_item_id", "root"},
             {"item",
              {{"id", "a"},
               {"type", "message"},
               {"role", "user"},
               {"content", Json::array({{{"type", "input_text"}, {"text", "one"}}})}}}});
  talk.say("three", "c");
  talk.say("two again", "b");
  EXPECT_EQ(talk.error_code(), "invalid_value");
  talk.send({{"type", "conversation.item.delete"}, {"item_id", "c"}});
  EXPECT_EQ(talk.client.next("conversation.item.deleted")["item_id"], "c");
  talk.send({{"type", "conversation.item.retrieve"}, {"item_id", "a"}});
  EXPECT_EQ(talk.client.next("conversation.item.retrieved")["item"]["content"][0]["text"], "one");
  talk.respond();
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one\ntwo. Go on!");
}

TEST(RealtimeConnection, OneResponseAtATime) {
  House house;
  std::counting_semaphore<> passes(0);
  house.on_pass = [&] { passes.acquire(); };
  Talk talk(house);
  talk.say("one");
  talk.respond();
  talk.respond();
  EXPECT_EQ(talk.error_code(), "conversation_already_has_active_response");
  talk.hear("two", /*end_of_turn=*/true);  // which is answered afterwards
  EXPECT_EQ(talk.client.next("conversation.item.done")["item"]["content"][0]["text"], "two");
  passes.release(1000);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: one. Go on!");
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: two. Go on!");
}

TEST(RealtimeConnection, WhatTheModelCannotTakeIsToldOnce) {
  House house;
  Talk talk(house);
  talk.update({{"instructions", std::string(5000, 'x')}});
  EXPECT_EQ(talk.error_code(), "invalid_conversation");
  talk.hear("one");  // without an end
  EXPECT_TRUE(
      stays_true(std::chrono::milliseconds(200), [&] { return talk.client.num_unread() <= 1; }));
  talk.hear("one two", /*end_of_turn=*/true);
  const Json failed = talk.client.next("response.done")["response"];
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["status_details"]["error"]["code"], "invalid_conversation");
  talk.hear("three");
  EXPECT_TRUE(
      stays_true(std::chrono::milliseconds(200), [&] { return talk.client.num_unread() <= 2; }));
  talk.update({{"instructions", "Be brief."}});
  talk.client.next("session.updated");
  talk.hear("four", /*end_of_turn=*/true);
  EXPECT_EQ(text_of(talk.client.next("response.done")["response"]), "You said: four. Go on!");
}

TEST(RealtimeConnection, WhatTheTemplateRefusesIsTheClientsFault) {
  struct StrictTokenizer : FakeTokenizer {
    using FakeTokenizer::FakeTokenizer;
    TokenIds render_chat(const std::vector<Message>& messages, bool add_generation_prompt,
                         const ToolSet& tools, const std::string& variables) const override {
      if (messages.back().content == "no") throw UserError("the template says: no");
      return FakeTokenizer::render_chat(messages, add_generation_prompt, tools, variables);
    }
  };
  House house;
  const StrictTokenizer tokenizer(predgen::kWords);
  const RealtimeHost host{.engine = house.engine,
                          .engine_lock = house.engine_lock,
                          .tokenizer = tokenizer,
                          .clock = house.clock,
                          .metrics = house.metrics,
                          .session = house.host.session,
                          .offer = house.host.offer};
  FakeSender client;
  RealtimeConnection connection(host, std::nullopt);
  connection.on_open(client);
  connection.on_text(R"({"type": "predgen.transcript.update", "text": "no", "final": true})");
  const Json response = client.next("response.done")["response"];
  connection.on_close();
  EXPECT_EQ(response["status"], "failed");
  const Json& error = response["status_details"]["error"];
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_EQ(error["message"], "the model cannot be given this conversation: the template says: no");
}

TEST(RealtimeConnection, AResponseCanBeCancelled) {
  House house;
  std::counting_semaphore<> passes(0);
  house.on_pass = [&] { passes.acquire(); };
  Talk talk(house);
  talk.say("one");
  talk.respond();
  passes.release(4);
  talk.client.next("response.output_text.delta");
  talk.send({{"type", "response.cancel"}, {"response_id", "resp_of_others"}});
  EXPECT_EQ(talk.error_code(), "response_cancel_not_active");
  talk.send({{"type", "response.cancel"}});
  passes.release(1);
  const Json response = talk.client.next("response.done")["response"];
  EXPECT_EQ(response["status"], "cancelled");
  EXPECT_EQ(response["status_details"]["reason"], "client_cancelled");
  EXPECT_EQ(response["output"][0]["status"], "incomplete");
  const std::string text = text_of(response);
  EXPECT_TRUE(std::string("You said: one. Go on!").starts_with(text)) << text;
  EXPECT_LE(text.size(), 6u);  // no pass after the one under way
  passes.release(10000);
  talk.ask("two");
  EXPECT_THAT(house.last_prompt(),
              HasSubstr("<user>one<end><assistant>" + text + "<end><user>two<end><assistant>"));
}

TEST(RealtimeConnection, WhatWasCancelledBeforeItBeganIsAskedWithTheRest) {
  House house;
  Talk talk(house);
  {
    const EngineLock::Hold hold(house.engine_lock);  // so that it cannot begin
    talk.say("one");
    talk.respond();
    talk.send({{"type", "response.cancel"}});
  }
  const Json response = talk.client.next("response.done")["response"];
  EXPECT_EQ(response["status"], "cancelled");
  EXPECT_TRUE(response["output"].empty());
  EXPECT_EQ(house.model.num_passes, 0);
  EXPECT_EQ(text_of(talk.ask("two")), "You said: one\ntwo. Go on!");
}

TEST(RealtimeConnection, AQuestionThatFailsIsForgotten) {
  House house(/*has_voice=*/false, /*context=*/64);
  Talk talk(house);
  const Json failed = talk.ask(std::string(200, 'a'));
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["status_details"]["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(text_of(talk.ask("one")), "You said: one. Go on!");
}

TEST(RealtimeConnection, OfAFailureOfOursTheClientLearnsNothing) {
  House house;
  house.on_pass = [] { throw Error("secret path /home"); };
  Talk talk(house);
  const Json failed = talk.ask("one");
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["status_details"]["error"]["type"], "server_error");
  EXPECT_EQ(failed.dump().find("secret"), std::string::npos);
  {
    const EngineLock::Hold hold(house.engine_lock);
    house.on_pass = nullptr;
  }
  EXPECT_EQ(text_of(talk.ask("two")), "You said: two. Go on!");
}

TEST(RealtimeConnection, AStopLetsAResponseEnd) {
  House house;
  Talk idle(house);
  idle.connection.on_drain();
  EXPECT_EQ(idle.client.next("closed")["code"], 1001);

  std::counting_semaphore<> passes(0);
  {
    const EngineLock::Hold hold(house.engine_lock);
    house.on_pass = [&] { passes.acquire(); };
  }
  Talk talk(house);
  talk.say("one");
  talk.respond();
  passes.release(3);
  talk.client.next("response.output_text.delta");
  talk.connection.on_drain();
  passes.release(1000);
  EXPECT_THAT(text_of(talk.client.next("response.done")["response"]), EndsWith("Go on!"));
  EXPECT_EQ(talk.client.next()["code"], 1001);
  talk.say("two");
  talk.respond();
  EXPECT_EQ(talk.error_code(), "server_stopping");
}

TEST(RealtimeConnection, ExpiryIsTold) {
  House house;
  Talk talk(house);
  talk.connection.on_expiry("nothing came for too long");
  EXPECT_EQ(talk.error_code(), "session_expired");
}

TEST(RealtimeConnection, WhoIsTooMuchIsTold) {
  House house;
  RealtimeConnection connection(
      house.host,
      ApiError({.status = 429, .type = "rate_limit_error", .code = "session_limit_reached"},
               "too many"));
  FakeSender client;
  connection.on_open(client);
  EXPECT_EQ(client.next("error")["error"]["code"], "session_limit_reached");
  EXPECT_EQ(client.next("closed")["code"], 1013);
  connection.on_text(R"({"type":"response.create"})");
  connection.on_drain();
  connection.on_close();
  EXPECT_EQ(client.num_unread(), 0u);
}

TEST(RealtimeConnection, AClientThatLeavesEndsItsWorkBeforeTheNextPass) {
  House house;
  std::counting_semaphore<> begun(0), passes(0);
  house.on_pass = [&] {
    begun.release();
    passes.acquire();
  };
  for (const bool speaks : {false, true}) {  // a draft, an answer
    Talk talk(house);
    const int64_t before = house.model.num_passes;
    talk.hear("one", /*end_of_turn=*/speaks);
    begun.acquire();
    std::jthread leaves([&] { talk.leave(); });
    take(std::chrono::milliseconds(50));  // until it waits for the pass
    passes.release();
    leaves.join();
    EXPECT_EQ(house.model.num_passes, before + 1);
    EXPECT_EQ(house.num_positions(), 0);
  }
}

TEST(RealtimeConnection, SeveralClientsGetWhatOneAloneGets) {
  const std::vector<std::string> prompts{"a", "hello", "somebody else"};
  House house;
  house.on_pass = [] { take(std::chrono::milliseconds(2)); };  // others come
  std::vector<std::unique_ptr<Talk>> talks;
  {
    const EngineLock::Hold hold(house.engine_lock);
    for (const std::string& prompt : prompts) {
      talks.push_back(std::make_unique<Talk>(house));
      talks.back()->say(prompt);
      talks.back()->respond();
    }
    while (house.engine_lock.num_waiting() < std::ssize(prompts)) std::this_thread::yield();
  }
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(text_of(talks[i]->client.next("response.done")["response"]),
              "You said: " + prompts[i] + ". Go on!");
  }
  const EngineLock::Hold hold(house.engine_lock);
  EXPECT_LT(house.engine.num_forward_passes(), 50) << "passes are not shared";
}

}  // namespace
}  // namespace predgen::serve

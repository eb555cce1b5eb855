#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Bytes of PCM16 in the base64 of these events' deltas.
size_t sound_bytes(const std::vector<Json>& events) {
  size_t bytes = 0;
  for (const Json& event : events) {
    if (event["type"] != "response.output_audio.delta") continue;
    const auto text = event["delta"].get<std::string>();
    bytes += text.size() / 4 * 3 - static_cast<size_t>(std::ranges::count(text, '='));
  }
  return bytes;
}

TEST(RealtimeSound, AnAnswerIsSpokenSentenceBySentence) {
  House house(/*has_voice=*/true);
  Talk talk(house);
  EXPECT_EQ(talk.created["session"]["output_modalities"], Json::array({"audio"}));
  EXPECT_EQ(talk.created["session"]["audio"]["output"]["voice"], "anna");
  talk.say("one");
  talk.respond();
  const std::vector<Json> events = talk.client.until("response.done");
  std::vector<Json> others;  // text and sound mix as they come
  std::string transcript;
  for (const Json& event : events) {
    const auto type = event["type"].get<std::string>();
    if (type == "response.output_audio_transcript.delta") transcript += event["delta"];
    if (!type.ends_with(".delta")) others.push_back(event);
  }
  EXPECT_THAT(types_of(others),
              ElementsAre("conversation.item.added", "conversation.item.done", "response.created",
                          "response.output_item.added", "conversation.item.added",
                          "response.content_part.added", "response.output_audio.done",
                          "response.output_audio_transcript.done", "response.content_part.done",
                          "response.output_item.done", "conversation.item.done", "response.done"));
  EXPECT_EQ(transcript, "You said: one. Go on!");
  EXPECT_EQ(sound_bytes(events),
            2 * RealtimeVoice::kChunksPerSentence * RealtimeVoice::kChunk * sizeof(int16_t));
  const Json& part = events.back()["response"]["output"][0]["content"][0];
  EXPECT_EQ(part["type"], "output_audio");
  EXPECT_EQ(part["transcript"], transcript);
}

TEST(RealtimeSound, TextAloneIsNotSpoken) {
  House house(/*has_voice=*/true);
  Talk talk(house);
  talk.update({{"output_modalities", {"text"}}});
  talk.say("one");
  talk.respond();
  EXPECT_EQ(sound_bytes(talk.client.until("response.done")), 0u);
  talk.say("two");
  talk.send({{"type", "response.create"}, {"response", {{"output_modalities", {"audio"}}}}});
  EXPECT_GT(sound_bytes(talk.client.until("response.done")), 0u);
}

TEST(RealtimeSound, AClientOfTheBetaGetsItsEvents) {
  House house(/*has_voice=*/true);
  Talk talk(house, /*is_beta=*/true);
  EXPECT_EQ(talk.created["session"]["modalities"], Json::array({"text", "audio"}));
  EXPECT_EQ(talk.created["session"]["voice"], "anna");
  talk.update({{"modalities", {"text"}}, {"voice", "alloy"}, {"output_audio_format", "g711_alaw"}});
  const Json session = talk.client.next("session.updated")["session"];
  EXPECT_EQ(session["modalities"], Json::array({"text"}));
  EXPECT_EQ(session["output_audio_format"], "g711_alaw");
  EXPECT_FALSE(session.contains("audio"));
  talk.say("one");
  EXPECT_EQ(talk.client.next()["type"], "conversation.item.created");
  talk.respond();
  EXPECT_EQ(talk.client.next("response.text.done")["text"], "You said: one. Go on!");
  const Json response = talk.client.next("response.done")["response"];
  EXPECT_EQ(response["output"][0]["content"][0]["type"], "text");
  talk.send({{"type", "response.create"}, {"response", {{"modalities", {"text", "audio"}}}}});
  EXPECT_FALSE(talk.client.next("response.audio.delta")["delta"].get<std::string>().empty());
  talk.client.next("response.audio_transcript.done");
  talk.client.next("response.done");
}

TEST(RealtimeSound, ATelephoneGetsItsLaw) {
  House house(/*has_voice=*/true);
  Talk talk(house);
  talk.update({{"output_audio_format", "g711_ulaw"}});
  EXPECT_EQ(talk.client.next("session.updated")["session"]["audio"]["output"]["format"]["type"],
            "audio/pcmu");
  talk.say("one");
  talk.respond();
  // A third of the samples, a byte each.
  EXPECT_EQ(sound_bytes(talk.client.until("response.done")),
            2 * RealtimeVoice::kChunksPerSentence * RealtimeVoice::kChunk / 3);
}

TEST(RealtimeSound, TheVoiceCanBeChosen) {
  House house(/*has_voice=*/true);
  Talk talk(house);
  talk.update({{"audio", {{"output", {{"voice", "otto"}}}}}});
  talk.client.next("session.updated");
  EXPECT_EQ(house.voices, (std::vector<std::string>{"anna", "otto"}));
  EXPECT_EQ(house.voice.asked_speed, 1);
  talk.update({{"audio", {{"output", {{"speed", 1.5}}}}}});
  EXPECT_EQ(talk.client.next("session.updated")["session"]["audio"]["output"]["speed"], 1.5);
  EXPECT_EQ(house.voice.asked_speed, 1.5);
  talk.update({{"instructions", "Sing."}, {"audio", {{"output", {{"voice", "nobody"}}}}}});
  const auto refused = [&] {
    return talk.client.next("predgen.warning")["warning"]["refused"].at(0)["param"];
  };
  EXPECT_EQ(refused(), "session.audio.output.voice");
  const Json session = talk.client.next("session.updated")["session"];
  EXPECT_EQ(session["audio"]["output"]["voice"], "otto");
  EXPECT_EQ(session["instructions"], "Sing.");
  talk.say("one");
  talk.send({{"type", "response.create"}, {"response", {{"voice", "anna"}}}});
  EXPECT_EQ(refused(), "response.audio.output");
  EXPECT_GT(sound_bytes(talk.client.until("response.done")), 0u);
}

TEST(RealtimeSound, WhatWasNotHeardIsForgotten) {
  House house(/*has_voice=*/true);
  Talk talk(house);
  const Json item = talk.ask("one")["output"][0];  // 16 samples, 2/3 of a millisecond
  const auto truncate = [&](const std::string& id, int milliseconds) {
    talk.send({{"type", "conversation.item.truncate"},
               {"item_id", id},
               {"content_index", 0},
               {"audio_end_ms", milliseconds}});
  };
  const std::string id = item["id"];
  truncate(id, 1000);
  EXPECT_EQ(talk.client.next("conversation.item.truncated")["audio_end_ms"], 1000);
  truncate("nobody's", 1);
  EXPECT_EQ(talk.error_code(), "item_not_found");
  talk.ask("two");
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: one. Go on!<end><user>two"));
  truncate(id, 0);
  talk.client.next("conversation.item.truncated");
  talk.ask("three");
  EXPECT_THAT(house.last_prompt(), HasSubstr("<user>one<end><assistant><end><user>two"));
}

TEST(RealtimeSound, ABargeInEndsTheSoundAndKeepsWhatWasHeard) {
  House house(/*has_voice=*/true);
  house.num_chunks = 1;  // then the voice waits
  Talk talk(house);
  talk.say("one");
  talk.respond();
  const std::string id = talk.client.next("response.output_item.added")["item"]["id"];
  talk.client.next("response.output_audio.delta");
  talk.send({{"type", "conversation.item.truncate"},
             {"item_id", id},
             {"content_index", 0},
             {"audio_end_ms", 0}});
  talk.send({{"type", "response.cancel"}});
  talk.client.next("conversation.item.truncated");
  const Json response = talk.client.next("response.done")["response"];
  EXPECT_EQ(response["status"], "cancelled");
  talk.send({{"type", "conversation.item.retrieve"}, {"item_id", id}});
  EXPECT_EQ(talk.client.next("conversation.item.retrieved")["item"]["content"][0]["transcript"],
            "");
}

TEST(RealtimeSound, OthersGoOnWhileItSpeaks) {
  House house(/*has_voice=*/true);
  house.num_chunks = 1;
  Talk talk(house);
  house.num_chunks = 1'000'000;
  Talk other(house);
  talk.say("one");
  talk.respond();
  talk.client.next("response.output_audio.delta");  // and then it waits for more
  EXPECT_EQ(other.ask("two")["status"], "completed");
  talk.send({{"type", "response.cancel"}});
  EXPECT_EQ(talk.client.next("response.done")["response"]["status"], "cancelled");
}

TEST(RealtimeSound, AVoiceThatIsLostFailsOneResponse) {
  House house(/*has_voice=*/true);
  house.broken_sentence = "Go on!";
  Talk talk(house);
  const Json failed = talk.ask("one");
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["status_details"]["error"]["type"], "server_error");
  talk.update({{"output_modalities", {"text"}}});
  EXPECT_EQ(talk.ask("two")["status"], "completed");
  EXPECT_THAT(house.last_prompt(), testing::Not(HasSubstr("one")));
}

TEST(RealtimeSound, AVoiceThatCannotBeginIsTriedAgain) {
  struct LateVoice : RealtimeVoice {
    explicit LateVoice(int num_failures) : RealtimeVoice(100, ""), failures(num_failures) {}
    int sample_rate() const override {
      if (failures == 0) return kRealtimeRate;
      --failures;
      throw Error("no thread");
    }
    mutable int failures;
  };
  House house(/*has_voice=*/true);
  const FakeVoice late({"anna"}, [](const std::string&) { return std::make_unique<LateVoice>(1); });
  house.host.offer.voice = &late;
  Talk talk(house);
  EXPECT_EQ(talk.client.next("error")["error"]["type"], "server_error");
  talk.say("one");
  talk.respond();
  EXPECT_GT(sound_bytes(talk.client.until("response.done")), 0u);
}

TEST(RealtimeSound, AVoiceThatCannotBeHadEndsTheConnection) {
  House house(/*has_voice=*/true);
  const FakeVoice lost({"anna"}, [](const std::string&) -> std::unique_ptr<SpeechSynthesizer> {
    throw UserError(std::string("the helper is gone"));
  });
  house.host.offer.voice = &lost;
  RealtimeConnection connection(house.host, std::nullopt);
  FakeSender client;
  connection.on_open(client);
  EXPECT_EQ(client.next("error")["error"]["type"], "server_error");
  EXPECT_EQ(client.next("closed")["code"], 1011);
  connection.on_close();
}

TEST(RealtimeSound, AClientMayLeaveWhileItSpeaks) {
  House house(/*has_voice=*/true);
  house.num_chunks = 1;
  auto talk = std::make_unique<Talk>(house);
  talk->say("one");
  talk->respond();
  talk->client.next("response.output_audio.delta");
  std::jthread leaves([&] { talk.reset(); });
  leaves.join();
  EXPECT_EQ(house.num_positions(), 0);
}

}  // namespace
}  // namespace predgen::serve

#include "serve/wyoming/wyoming_satellites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/serve/realtime/talk.h"
#include "tests/serve/wyoming/fake_wyoming_sender.h"

namespace predgen::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct SatelliteHouse : House {
  SatelliteHouse() : House(/*has_voice=*/true) {
    host.make_recogniser = desk.make;
    host.offer.has_recogniser = true;
  }
  RecogniserDesk desk;
};

/// A satellite that has heard its wake phrase.
struct Satellite {
  explicit Satellite(SatelliteHouse& at) : house(at), talk(at.host, "kitchen") {
    talk.use(&sender);
    sender.until("ping");
  }
  ~Satellite() { talk.use(nullptr); }

  void wake(const std::string& until = "tts") {
    talk.take({.type = "run-pipeline", .data = {{"start_stage", "asr"}, {"end_stage", until}}});
    ++house.desk.utterance;  // what was heard before is dropped
  }
  void send_sound(int milliseconds, int rate = 16000) {
    talk.take({.type = "audio-chunk",
               .data = {{"rate", rate}, {"width", 2}, {"channels", 1}},
               .payload = std::string(static_cast<size_t>(milliseconds * rate / 1000 * 2), '\0')});
  }
  void say(const std::string& words, const std::string& until = "tts") {
    wake(until);
    send_sound(500);
    house.desk.hear(words, /*is_over=*/true, ++num_segments);
    send_sound(2000);
  }
  std::vector<std::string> types_until(const std::string& last) {
    std::vector<std::string> types;
    for (const WyomingEvent& event : sender.until(last)) {
      if (types.empty() || types.back() != event.type) types.push_back(event.type);
    }
    return types;
  }

  SatelliteHouse& house;
  FakeWyomingSender sender;
  SatelliteTalk talk;
  int64_t num_segments = 0;
};

TEST(SatelliteTalk, AnswersATurnWithSound) {
  SatelliteHouse house;
  Satellite satellite(house);
  satellite.say("one");
  std::string sound, heard, said;
  std::vector<std::string> types;
  for (const WyomingEvent& event : satellite.sender.until("audio-stop")) {
    if (types.empty() || types.back() != event.type) types.push_back(event.type);
    if (event.type == "audio-chunk") sound += event.payload;
    if (event.type == "transcript") heard = event.data["text"];
    if (event.type == "synthesize") said = event.data["text"];
  }
  EXPECT_THAT(types, ElementsAre("voice-started", "voice-stopped", "transcript", "audio-start",
                                 "audio-chunk", "synthesize", "audio-stop"));
  EXPECT_EQ(heard, "one");
  EXPECT_EQ(said, "You said: one. Go on!");
  EXPECT_EQ(sound.size(), 2 * RealtimeVoice::kChunksPerSentence * RealtimeVoice::kChunk * 2);
  satellite.send_sound(1000);  // which it still sends
  EXPECT_EQ(satellite.sender.num_unread(), 0u);
}

TEST(SatelliteTalk, GoesOnOverLaterConnectionsButNotForever) {
  SatelliteHouse house;
  Satellite satellite(house);
  satellite.say("one");
  satellite.sender.until("audio-stop");
  satellite.talk.use(nullptr);
  satellite.talk.use(&satellite.sender);
  satellite.say("two", "handle");  // without a loudspeaker
  EXPECT_EQ(satellite.sender.until("handled").back().data["text"], "You said: two. Go on!");
  EXPECT_THAT(house.last_prompt(), HasSubstr("You said: one. Go on!"));
  house.clock.set(301);
  house.desk.utterance = 0;  // of a recogniser of its own
  satellite.say("three");
  satellite.sender.until("audio-stop");
  EXPECT_THAT(house.last_prompt(), Not(HasSubstr("one")));
}

TEST(SatelliteTalk, ListensForItsWakePhraseAgainWhenNothingIsSaid) {
  SatelliteHouse house;
  Satellite satellite(house);
  satellite.wake();
  for (int i = 0; i < 16; ++i) satellite.send_sound(1000, 48000);
  EXPECT_EQ(satellite.sender.next().data, (Json{{"text", ""}}));
  satellite.wake();
  satellite.talk.take({.type = "audio-stop"});
  EXPECT_EQ(satellite.sender.next().data, (Json{{"text", ""}}));
  EXPECT_EQ(satellite.sender.num_unread(), 0u);
}

TEST(SatelliteTalk, TheEndOfTheSoundIsTheEndOfTheTurn) {
  SatelliteHouse house;
  Satellite satellite(house);
  satellite.wake();
  satellite.send_sound(500);
  satellite.talk.take({.type = "audio-stop"});
  house.desk.hear("one", /*is_over=*/true);
  house.desk.end();
  EXPECT_THAT(satellite.types_until("audio-stop"),
              ElementsAre("voice-stopped", "transcript", "audio-start", "audio-chunk", "synthesize",
                          "audio-stop"));
}

TEST(SatelliteTalk, ItsNextTurnEndsAnAnswer) {
  SatelliteHouse house;
  house.num_chunks = 0;  // the voice is never done
  Satellite satellite(house);
  satellite.say("one");
  satellite.sender.until("transcript");
  settle(house, "You said: one");
  satellite.say("two", "handle");
  // The question of which nothing was heard may be asked again in front of it.
  EXPECT_THAT(satellite.sender.until("handled").back().data["text"].get<std::string>(),
              HasSubstr("two. Go on!"));
}

TEST(SatelliteTalk, AnswersPingsAndRefusesToFindItsWakePhrase) {
  SatelliteHouse house;
  Satellite satellite(house);
  satellite.talk.take({.type = "ping", .data = {{"text", "x"}}});
  const WyomingEvent pong = satellite.sender.next();
  EXPECT_EQ(pong.type, "pong");
  EXPECT_EQ(pong.data["text"], "x");
  satellite.talk.take({.type = "detection"});
  const auto run = [&](const Json& stages) {
    satellite.talk.take({.type = "run-pipeline", .data = stages});
  };
  run({{"start_stage", "wake"}, {"end_stage", "tts"}});
  const WyomingEvent error = satellite.sender.next();
  EXPECT_EQ(error.type, "error");
  EXPECT_THAT(error.data["text"].get<std::string>(), HasSubstr("--wake-uri"));
  expect_user_error([&] { run({{"start_stage", "asr"}}); }, {"end_stage"});
  satellite.talk.drain();
  EXPECT_EQ(satellite.sender.next().type, "closed");
}

TEST(WyomingSatellites, HaveAnAddress) {
  EXPECT_EQ(satellite_address("kitchen.local:10700").host, "kitchen.local");
  EXPECT_EQ(satellite_address("[::1]:1").host, "::1");
  EXPECT_EQ(satellite_address("a:65535").port, 65535);
  for (const char* wrong : {"", "kitchen", ":1", "a:", "a:0", "a:65536", "a:1x", "tcp://a:1"}) {
    expect_user_error([&] { satellite_address(wrong); }, {"HOST:PORT"});
  }
}

}  // namespace
}  // namespace predgen::serve

#include "serve/openai/speech_api.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/base64.h"
#include "core/error.h"
#include "core/json.h"
#include "serve/api_error.h"
#include "tests/fakes/fake_host.h"
#include "tests/fakes/fake_voice.h"
#include "tests/serve/http/fake_reply.h"

namespace predgen::serve {
namespace {

/// A second of sound a sentence; one sentence is beyond it.
struct Speaking : SpeechSynthesizer {
  struct Second : Synthesis {
    bool advance(std::vector<float>& samples) override {
      samples.insert(samples.end(), 12000, 0.5f);
      return false;
    }
  };
  int sample_rate() const override { return 12000; }
  std::string language() const override { return "en"; }
  std::unique_ptr<Synthesis> begin(const std::string& spoken) override {
    if (spoken == "It breaks.") throw Error("the voice is broken");
    return std::make_unique<Second>();
  }
};

struct SpeechHouse : FakeHost {
  SpeechHouse() : FakeHost({" one"}, {}) { host.offer.voice = &voice; }
  void ask(const std::string& body, FakeReply& reply) {
    api.serve({.method = "POST", .path = "/v1/audio/speech", .body = body}, client, reply,
              stop.get_token());
  }
  void speak(const std::string& input, FakeReply& reply) {
    ask(R"({"model":"m","voice":"en-us","input":)" + input + "}", reply);
  }
  ApiError refused(const std::string& input) {
    FakeReply reply;
    try {
      speak(input, reply);
    } catch (const ApiError& error) {
      return error;
    }
    ADD_FAILURE() << input << " is taken";
    return ApiError({}, "");
  }

  std::vector<std::string> names;  // of the voices that were asked for
  const FakeVoice voice{{"en-us", "de"}, [this](const std::string& name) {
                          names.push_back(name);
                          return std::make_unique<Speaking>();
                        }};
  std::stop_source stop;
  std::string client = "one";
  SpeechApi api{host, /*max_sessions=*/1};
};

/// Seconds of 16-bit samples at 24 kHz.
double seconds_of(const std::string& pcm) { return static_cast<double>(pcm.size()) / 2 / 24000; }

TEST(SpeechApi, SpeaksSentenceBySentence) {
  SpeechHouse house;
  FakeReply pcm, wav;
  house.speak(R"("Hello there. Bye.","response_format":"pcm")", pcm);
  EXPECT_EQ(pcm.part_type, "audio/pcm");
  EXPECT_NEAR(seconds_of(pcm.parts), 2, 0.01);
  house.speak(R"("Hello there. Bye.","response_format":"wav")", wav);
  EXPECT_EQ(wav.part_type, "audio/wav");
  EXPECT_TRUE(wav.parts.starts_with("RIFF\xff\xff\xff\xffWAVEfmt "));
  EXPECT_EQ(wav.parts.substr(44), pcm.parts);
  EXPECT_EQ(house.names, (std::vector<std::string>{"en-us", "en-us"}));
}

TEST(SpeechApi, ThoughtsAreNotSpoken) {
  SpeechHouse house;
  FakeReply thinking;
  house.speak(R"("<think>One. Two.\nThree.</think>\nHello there.","response_format":"pcm")",
              thinking);
  EXPECT_NEAR(seconds_of(thinking.parts), 1, 0.1);
}

TEST(SpeechApi, NamesOfOpenAiMeanTheConfiguredVoice) {
  SpeechHouse house;
  FakeReply reply;
  house.ask(R"({"model":"tts-1","voice":"nova","input":"Hello."})", reply);
  house.ask(R"({"model":"m","voice":"de","input":"Hello."})", reply);
  EXPECT_EQ(house.names, (std::vector<std::string>{"en-us", "de"}));
  std::string why;
  const auto refused = [&](const std::string& body) {
    try {
      house.ask(body, reply);
    } catch (const ApiError& error) {
      why = error.what();
      return error.param();
    }
    return std::string();
  };
  EXPECT_EQ(refused(R"({"model":"gpt","input":"Hello."})"), "model");
  EXPECT_EQ(refused(R"({"model":"m","input":"Hello.","voice":"klingonese"})"), "voice");
  EXPECT_NE(why.find("there is no voice 'klingonese' here: choose one of en-us, de"),
            std::string::npos)
      << why;
}

TEST(SpeechApi, RefusesByNameWhatItDoesNotSpeak) {
  SpeechHouse house;
  EXPECT_EQ(house.refused(R"("a","response_format":"aac")").param(), "response_format");
  EXPECT_EQ(house.refused(R"("a","speed":5)").param(), "speed");
  const ApiError slow = house.refused(R"("a","speed":0.25)");
  EXPECT_EQ(slow.param(), "speed");
  EXPECT_NE(std::string(slow.what()).find("0.50 to 2.00"), std::string::npos) << slow.what();
  EXPECT_EQ(house.refused(R"("a","instructions":7)").param(), "instructions");
  EXPECT_EQ(house.refused(R"("a","stream_format":"xml")").param(), "stream_format");
  EXPECT_EQ(house.refused(R"("a","colour":"red")").code(), "unknown_parameter");
  EXPECT_EQ(house.refused("7").code(), "invalid_type");
  EXPECT_EQ(house.refused(R"(" ")").param(), "input");
  EXPECT_EQ(house.refused("\"" + std::string(4097, 'a') + "\"").param(), "input");
  house.host.offer.voice = nullptr;
  EXPECT_EQ(house.refused(R"("a")").code(), "no_voice");
}

TEST(SpeechApi, ClientsGetTheFormatThatTheyExpect) {
  SpeechHouse house;
  const std::vector<std::array<std::string, 3>> formats{{"", "audio/mpeg", "\xff\xf3"},
                                                        {"mp3", "audio/mpeg", "\xff\xf3"},
                                                        {"opus", "audio/ogg", "OggS"},
                                                        {"flac", "audio/flac", "fLaC"},
                                                        {"wav", "audio/wav", "RIFF"}};
  for (const auto& [format, type, begin] : formats) {
    FakeReply reply;
    house.speak(R"("Hello there. Bye.")" +
                    (format.empty() ? "" : R"(,"response_format":")" + format + "\""),
                reply);
    EXPECT_EQ(reply.part_type, type);
    EXPECT_TRUE(reply.parts.starts_with(begin)) << format;
  }
}

TEST(SpeechApi, SpeaksAsFastAsItIsTold) {
  SpeechHouse house;
  FakeReply reply;
  house.speak(R"("Hello.","speed":1.25)", reply);
  EXPECT_EQ(house.voice.asked_speed, 1.25);
  house.speak(R"("Hello.","instructions":"Speak like a pirate.","speed":null,"user":"me")", reply);
  EXPECT_EQ(house.voice.asked_speed, 1);
}

TEST(SpeechApi, EventsCarryTheSameSound) {
  SpeechHouse house;
  FakeReply file, stream;
  house.speak(R"("Hello there. Bye.","response_format":"pcm")", file);
  house.speak(R"("Hello there. Bye.","response_format":"pcm","stream_format":"sse")", stream);
  std::string sound;
  for (const std::string& text : stream.events) {
    const Json event = Json::parse(text);
    if (event["type"] == "speech.audio.delta")
      sound += *from_base64(event["audio"].get<std::string>());
  }
  EXPECT_EQ(sound, file.parts);
  EXPECT_EQ(Json::parse(stream.events.back())["type"], "speech.audio.done");
  EXPECT_GT(Json::parse(stream.events.back())["usage"]["input_tokens"], 0);
}

TEST(SpeechApi, OneTextTooManyIsRefused) {
  SpeechHouse house;
  FakeReply reply;
  std::string code;
  reply.on_part = [&] {
    if (code.empty()) code = house.refused(R"("Hello.")").code();
  };
  house.speak(R"("Hello.","response_format":"pcm")", reply);
  EXPECT_EQ(code, "session_limit_reached");
  house.speak(R"("Hello.")", reply);
}

TEST(SpeechApi, AVoiceThatFailsCutsTheSound) {
  SpeechHouse house;
  FakeReply reply;
  EXPECT_THROW(house.speak(R"("Hello there. It breaks.")", reply), Interrupted);
  EXPECT_GT(reply.parts.size(), 44u);
  FakeReply none;
  EXPECT_THROW(house.speak(R"("It breaks. Hello there.")", none), Error) << "which is a status";
  EXPECT_EQ(none.parts, "");
}

TEST(SpeechApi, NobodySpeaksForAClientThatLeftOrAtAStop) {
  SpeechHouse house;
  FakeReply reply;
  reply.on_part = [&] { reply.has_left = true; };
  house.speak(R"("Hello there. Bye.","response_format":"pcm")", reply);
  EXPECT_NEAR(seconds_of(reply.parts), 1, 0.1);
  house.stop.request_stop();
  FakeReply other;
  EXPECT_THROW(house.speak(R"("Hello.")", other), Interrupted);
}

}  // namespace
}  // namespace predgen::serve

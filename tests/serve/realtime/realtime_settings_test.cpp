#include "serve/realtime/realtime_settings.h"

#include <gtest/gtest.h>

#include "serve/api_error.h"
#include "tests/fakes/fake_voice.h"

namespace predgen::serve {
namespace {

const FakeVoice kVoice = silent_voice("anna");
const RealtimeOffer kSilent{.model = "m"}, kSpeaking{.model = "m", .voice = &kVoice};

RealtimeSettings after(const char* json, const RealtimeOffer& offer = kSpeaking) {
  return updated(Json::parse(json), {.voice = offer.voice ? "anna" : ""}, offer);
}

std::string refused(const char* json, const RealtimeOffer& offer = kSpeaking) {
  try {
    after(json, offer);
  } catch (const ApiError& error) {
    return error.code() + " " + error.param();
  }
  return "";
}

TEST(RealtimeSettings, AreReadByTodaysNames) {
  const RealtimeSettings settings = after(R"({
      "type": "realtime", "model": "m", "instructions": "Be brief.",
      "output_modalities": ["audio"], "max_output_tokens": 7, "tools": [], "tool_choice": "auto",
      "tracing": null, "truncation": "auto",
      "audio": {"input": {"format": {"rate": 24000, "type": "audio/pcm"}, "turn_detection": null},
                "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "otto",
                           "speed": 1.0}},
      "predgen": {"speculation": false, "events": ["speculation", "metrics"]}})");
  EXPECT_EQ(settings.instructions, "Be brief.");
  EXPECT_TRUE(settings.has_audio);
  EXPECT_EQ(settings.max_output_tokens, 7);
  EXPECT_EQ(settings.voice, "otto");
  EXPECT_FALSE(settings.speculates);
  EXPECT_EQ(settings.events, (std::set<std::string>{"metrics", "speculation"}));
  // And what they say is taken again.
  const Json json = settings.json("sess_1", kSpeaking);
  EXPECT_EQ(json["audio"]["output"]["voice"], "otto");
  EXPECT_EQ(json["output_modalities"], Json::array({"audio"}));
}

TEST(RealtimeSettings, AreReadByTheNamesOfTheBeta) {
  const RealtimeSettings settings = after(R"({
      "modalities": ["text", "audio"], "voice": "otto", "max_response_output_tokens": "inf",
      "input_audio_format": "pcm16", "output_audio_format": "pcm16",
      "input_audio_transcription": null, "turn_detection": null})");
  EXPECT_TRUE(settings.has_audio);
  EXPECT_EQ(settings.voice, "otto");
  EXPECT_EQ(settings.max_output_tokens, std::nullopt);
  EXPECT_FALSE(after(R"({"modalities": ["text"]})").has_audio);
}

TEST(RealtimeSettings, FunctionsStayUntilThereAreOthers) {
  const RealtimeOffer offer{.model = "m", .has_tools = true};
  RealtimeSettings settings =
      after(R"({"tools": [{"type": "function", "name": "f", "description": "x"}]})", offer);
  settings = updated(Json{{"instructions", "Be brief."}}, settings, offer);
  EXPECT_EQ(settings.tools.names, std::vector<std::string>{"f"});
  EXPECT_EQ(settings.json("sess_1", offer)["tools"][0]["name"], "f");
  settings = updated(Json{{"tool_choice", "none"}}, settings, offer);
  EXPECT_FALSE(settings.may_call);
  EXPECT_TRUE(updated(Json{{"tools", Json::array()}}, settings, offer).tools.empty());
}

TEST(RealtimeSettings, VoicesOfOpenAiAreTheConfiguredOne) {
  EXPECT_EQ(after(R"({"audio": {"output": {"voice": "marin"}}})").voice, "anna");
}

TEST(RealtimeSettings, WhatIsNotSupportedIsNamed) {
  EXPECT_EQ(refused(R"({"colour": 1})"), "unknown_parameter session.colour");
  EXPECT_EQ(refused(R"({"type": "transcription"})"), "unsupported_value session.type");
  EXPECT_EQ(refused(R"({"model": "gpt"})"), "unsupported_value session.model");
  EXPECT_EQ(refused(R"({"instructions": 5})"), "invalid_type session.instructions");
  EXPECT_EQ(refused(R"({"output_modalities": "text"})"), "invalid_type session.output_modalities");
  EXPECT_EQ(refused(R"({"output_modalities": ["video"]})"),
            "invalid_value session.output_modalities");
  EXPECT_EQ(refused(R"({"output_modalities": ["audio"]})", kSilent),
            "unsupported_value session.output_modalities");
  EXPECT_EQ(refused(R"({"audio": {"output": {"voice": "otto"}}})", kSilent),
            "unsupported_value session.audio.output.voice");
  EXPECT_EQ(refused(R"({"max_output_tokens": 0})"), "invalid_value session.max_output_tokens");
  EXPECT_EQ(refused(R"({"tools": [{"type": "function", "name": "f"}]})"),
            "unsupported_value session.tools");
  EXPECT_EQ(refused(R"({"tools": [{"type": "mcp"}]})"), "unsupported_value session.tools[0].type");
  EXPECT_EQ(refused(R"({"tool_choice": {"type": "function", "name": "f"}})"),
            "unsupported_value session.tool_choice");
  EXPECT_EQ(refused(R"({"audio": {"input": {"turn_detection": {"type": "server_vad"}}}})"),
            "unsupported_value session.audio.input.turn_detection");
  EXPECT_EQ(refused(R"({"audio": {"output": {"format": {"type": "audio/pcmu"}}}})"),
            "unsupported_value session.audio.output.format");
  EXPECT_EQ(refused(R"({"audio": {"output": {"volume": 1}}})"),
            "unknown_parameter session.audio.output.volume");
  EXPECT_EQ(refused(R"({"audio": 1})"), "invalid_type session.audio");
  EXPECT_EQ(refused(R"({"temperature": 0.8})"), "unsupported_value session.temperature");
  EXPECT_EQ(refused(R"({"predgen": {"events": ["all"]}})"), "invalid_value session.predgen.events");
  EXPECT_EQ(refused(R"({"predgen": {"speculation": 1}})"),
            "invalid_type session.predgen.speculation");
  EXPECT_EQ(refused(R"("x")"), "invalid_type session");
}

TEST(RealtimeSettings, SayWhoDetectsTurns) {
  const RealtimeOffer hearing{.model = "m", .has_recogniser = true};
  const auto detection = [&](const char* json) { return after(json, hearing).turn_detection; };
  const TurnDetection set = detection(R"({"audio": {"input": {
      "transcription": {"model": "whisper-1"},
      "turn_detection": {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 200,
                         "silence_duration_ms": 0, "create_response": false,
                         "interrupt_response": false}}}})");
  EXPECT_TRUE(set.end.is_detected);
  EXPECT_EQ(set.end.silence_ms, 0);
  EXPECT_FALSE(set.creates_response);
  EXPECT_FALSE(set.interrupts_response);
  const TurnDetection plain = detection(R"({"turn_detection": {"type": "server_vad"},
                                           "input_audio_transcription": {"model": "x"}})");
  EXPECT_TRUE(plain.end.is_detected && plain.creates_response && plain.interrupts_response);
  EXPECT_EQ(plain.end.silence_ms, 500);
  const TurnDetection semantic =
      detection(R"({"turn_detection": {"type": "semantic_vad", "eagerness": "low"}})");
  EXPECT_TRUE(semantic.end.by_words);
  EXPECT_EQ(semantic.end.waits.value().longest_ms, 2400);
  EXPECT_EQ(semantic.json()["eagerness"], "low");
  const Json told{{"turn_detection", semantic.json()}};
  EXPECT_EQ(updated(told, {}, hearing).turn_detection.json(), semantic.json());
  EXPECT_FALSE(plain.end.waits.has_value() || plain.end.by_words);
  const RealtimeOffer quick{
      .model = "m", .has_recogniser = true, .waits = {.shortest_ms = 150, .longest_ms = 600}};
  const auto longest = [&](const char* json) {
    return after(json, quick).turn_detection.end.waits.value().longest_ms;
  };
  EXPECT_EQ(longest(R"({"turn_detection": {"type": "semantic_vad"}})"), 600);
  EXPECT_EQ(longest(R"({"turn_detection": {"type": "semantic_vad", "eagerness": "auto"}})"), 600);
  EXPECT_EQ(longest(R"({"turn_detection": {"type": "semantic_vad", "eagerness": "medium"}})"),
            1200);
  const RealtimeSettings on{.turn_detection = {.end = {.is_detected = true}}};
  EXPECT_FALSE(updated(Json::parse(R"({"turn_detection": null})"), on, hearing)
                   .turn_detection.end.is_detected);
  EXPECT_TRUE(
      updated(Json::parse(R"({"type": "realtime"})"), on, hearing).turn_detection.end.is_detected);
  const Json said = on.json("sess_1", hearing)["audio"];
  EXPECT_TRUE(updated(Json{{"audio", said}}, {}, hearing).turn_detection.end.is_detected);
  EXPECT_EQ(refused(R"({"turn_detection": {"type": "push_to_talk"}})", hearing),
            "unsupported_value session.turn_detection.type");
  EXPECT_EQ(refused(R"({"turn_detection": {"type": "semantic_vad", "eagerness": 1}})", hearing),
            "invalid_type session.turn_detection.eagerness");
  EXPECT_EQ(refused(R"({"turn_detection": {"type": "semantic_vad", "eagerness": "x"}})", hearing),
            "invalid_value session.turn_detection.eagerness");
  EXPECT_EQ(refused(R"({"turn_detection": {"type": "semantic_vad", "threshold": 0.5}})", hearing),
            "unknown_parameter session.turn_detection.threshold");
  EXPECT_EQ(refused(R"({"turn_detection": {"threshold": 0.6}})", hearing),
            "unsupported_value session.turn_detection.threshold");
  EXPECT_EQ(refused(R"({"turn_detection": {"idle_timeout_ms": 6000}})", hearing),
            "unsupported_value session.turn_detection.idle_timeout_ms");
  EXPECT_EQ(refused(R"({"turn_detection": {"silence_duration_ms": -1}})", hearing),
            "invalid_value session.turn_detection.silence_duration_ms");
  EXPECT_EQ(refused(R"({"audio": {"input": {"format": {"type": "audio/pcmu"}}}})", hearing),
            "unsupported_value session.audio.input.format");
  EXPECT_EQ(refused(R"({"audio": {"input": {"transcription": {"language": "de"}}}})", hearing),
            "unsupported_value session.audio.input.transcription.language");
}

TEST(RealtimeSettings, AResponseHasSomeOfItsOwn) {
  Json metadata;
  const RealtimeSettings session{.instructions = "Be brief.", .voice = "anna"};
  const RealtimeSettings own =
      for_response(Json::parse(R"({"instructions": "Sing.", "metadata": {"a": "b"},
                                   "conversation": "auto", "max_output_tokens": 3})"),
                   session, kSpeaking, metadata);
  EXPECT_EQ(own.instructions, "Sing.");
  EXPECT_EQ(own.max_output_tokens, 3);
  EXPECT_EQ(metadata["a"], "b");
  const RealtimeOffer hearing{.model = "m", .has_recogniser = true};
  EXPECT_THROW(for_response(Json::parse(R"({"audio": {"input": {"turn_detection":
                                            {"type": "server_vad"}}}})"),
                            session, hearing, metadata),
               ApiError);
  EXPECT_THROW(
      for_response(Json::parse(R"({"conversation": "none"})"), session, kSpeaking, metadata),
      ApiError);
}

}  // namespace
}  // namespace predgen::serve

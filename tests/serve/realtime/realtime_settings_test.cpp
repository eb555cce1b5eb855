#include "serve/realtime/realtime_settings.h"

#include <gtest/gtest.h>

#include "serve/api_error.h"
#include "tests/fakes/fake_voice.h"

namespace predgen::serve {
namespace {

const FakeVoice kVoice = silent_voice("anna");
const RealtimeOffer kSilent{.model = "m"}, kSpeaking{.model = "m", .voice = &kVoice};

/// What is asked for must be possible.
RealtimeSettings after(const Json& json, const RealtimeSettings& before,
                       const RealtimeOffer& offer) {
  Refusals refusals;
  RealtimeSettings settings = updated(json, before, offer, refusals);
  for (const ApiError& error : refusals.list()) ADD_FAILURE() << error.what();
  return settings;
}

RealtimeSettings after(const char* json, const RealtimeOffer& offer = kSpeaking) {
  return after(Json::parse(json), {.voice = offer.voice ? "anna" : ""}, offer);
}

/// The one field that is refused; the instructions beside it count.
std::string refused(const char* json, const RealtimeOffer& offer = kSpeaking) {
  Refusals refusals;
  Json asked = Json::parse(json);
  const bool has_instructions = asked.contains("instructions");
  if (!has_instructions) asked["instructions"] = "Be brief.";
  const RealtimeSettings settings =
      updated(asked, {.voice = offer.voice ? "anna" : ""}, offer, refusals);
  EXPECT_TRUE(has_instructions || settings.instructions == "Be brief.") << json;
  EXPECT_LE(refusals.list().size(), 1u) << json;
  if (refusals.empty()) return "";
  const ApiError& error = refusals.list().front();
  return error.code() + " " + error.param();
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
  settings = after(Json{{"instructions", "Be brief."}}, settings, offer);
  EXPECT_EQ(settings.tools.names, std::vector<std::string>{"f"});
  EXPECT_EQ(settings.json("sess_1", offer)["tools"][0]["name"], "f");
  settings = after(Json{{"tool_choice", "none"}}, settings, offer);
  EXPECT_EQ(settings.tool_choice.kind, ToolChoice::Kind::kNone);
  EXPECT_TRUE(after(Json{{"tools", Json::array()}}, settings, offer).tools.empty());
}

TEST(RealtimeSettings, VoicesOfOpenAiAreTheConfiguredOne) {
  EXPECT_EQ(after(R"({"audio": {"output": {"voice": "marin"}}})").voice, "anna");
}

TEST(RealtimeSettings, WhatIsNotSupportedIsNamed) {
  EXPECT_EQ(refused(R"({"colour": 1})"), "unknown_parameter session.colour");
  EXPECT_EQ(refused(R"({"type": "transcription"})"), "unsupported_value session.type");
  EXPECT_EQ(refused(R"({"model": "llama"})"), "unsupported_value session.model");
  EXPECT_EQ(refused(R"({"model": "gpt-realtime"})"), "");
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
  EXPECT_EQ(refused(R"({"audio": {"output": {"format": {"type": "audio/opus"}}}})"),
            "unsupported_value session.audio.output.format");
  EXPECT_EQ(refused(R"({"audio": {"output": {"format": {"type": "audio/pcmu", "rate": 16000}}}})"),
            "unsupported_value session.audio.output.format");
  EXPECT_EQ(refused(R"({"audio": {"output": {"speed": 3}}})"),
            "unsupported_value session.audio.output.speed");
  EXPECT_EQ(refused(R"({"audio": {"output": {"speed": 1.1}}})", kSilent),
            "unsupported_value session.audio.output.speed");
  EXPECT_EQ(refused(R"({"audio": {"output": {"volume": 1}}})"),
            "unknown_parameter session.audio.output.volume");
  EXPECT_EQ(refused(R"({"audio": 1})"), "invalid_type session.audio");
  EXPECT_EQ(refused(R"({"temperature": 3})"), "invalid_value session.temperature");
  EXPECT_EQ(refused(R"({"temperature": 0.8})", {.model = "m", .may_sample = false}),
            "unsupported_value session.temperature");
  EXPECT_EQ(refused(R"({"tracing": "auto", "id": "sess_1", "object": "realtime.session"})"), "");
  EXPECT_EQ(refused(R"({"predgen": {"events": ["all"]}})"), "invalid_value session.predgen.events");
  EXPECT_EQ(refused(R"({"predgen": {"speculation": 1}})"),
            "invalid_type session.predgen.speculation");
  Refusals refusals;
  EXPECT_THROW(updated(Json("x"), {}, kSpeaking, refusals), ApiError);
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
  EXPECT_EQ(after(told, {}, hearing).turn_detection.json(), semantic.json());
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
  EXPECT_FALSE(after(Json::parse(R"({"turn_detection": null})"), on, hearing)
                   .turn_detection.end.is_detected);
  EXPECT_TRUE(
      after(Json::parse(R"({"type": "realtime"})"), on, hearing).turn_detection.end.is_detected);
  EXPECT_FALSE(after(Json::parse(R"({"turn_detection": false})"), on, hearing)
                   .turn_detection.end.is_detected);
  const Json said = on.json("sess_1", hearing)["audio"];
  EXPECT_TRUE(after(Json{{"audio", said}}, {}, hearing).turn_detection.end.is_detected);
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
  EXPECT_EQ(
      refused(R"({"audio": {"input": {"noise_reduction": {"type": "near_field"}}}})", hearing),
      "unsupported_value session.audio.input.noise_reduction");
  EXPECT_EQ(refused(R"({"audio": {"input": {"transcription": {"language": "de"}}}})", hearing),
            "unsupported_value session.audio.input.transcription.language");
}

TEST(RealtimeSettings, ALanguageIsTakenIfItIsTheRecognisersOwn) {
  const RealtimeOffer english{.model = "m", .has_recogniser = true, .language = "en"};
  const auto refused_code = [&](const std::string& language) {
    const Json asked{{"input_audio_transcription", {{"model", "x"}, {"language", language}}}};
    return refused(asked.dump().c_str(), english);
  };
  EXPECT_EQ(refused_code("en"), "");
  EXPECT_EQ(refused_code("EN-us"), "");
  EXPECT_EQ(refused_code("de"), "unsupported_value session.input_audio_transcription.language");
}

TEST(RealtimeSettings, WhatCanBeDoneIsDoneBesideWhatCannot) {
  const RealtimeOffer offer{.model = "m", .voice = &kVoice, .has_recogniser = true};
  Refusals refusals;
  const RealtimeSettings settings = updated(Json::parse(R"({
      "type": "realtime", "instructions": "Be brief.", "max_output_tokens": 9, "colour": 1,
      "tool_choice": "required", "truncation": "disabled",
      "audio": {"input": {"format": {"type": "audio/pcma"}, "noise_reduction": {"type": "far_field"},
                          "transcription": {"language": "fr", "prompt": "names"},
                          "turn_detection": {"type": "server_vad", "threshold": 0.7,
                                             "silence_duration_ms": 300, "create_response": false}},
                "output": {"format": "g711_ulaw", "voice": "otto", "speed": 3}}})"),
                                            {.voice = "anna"}, offer, refusals);
  EXPECT_EQ(settings.instructions, "Be brief.");
  EXPECT_EQ(settings.max_output_tokens, 9);
  EXPECT_EQ(settings.voice, "otto");
  EXPECT_EQ(settings.turn_detection.end.silence_ms, 300);
  EXPECT_TRUE(settings.turn_detection.end.is_detected);
  EXPECT_FALSE(settings.turn_detection.creates_response);
  EXPECT_EQ(settings.input_format.json()["type"], "audio/pcma");
  EXPECT_EQ(settings.output_format.json()["type"], "audio/pcmu");
  std::set<std::string> names;
  for (const ApiError& error : refusals.list()) names.insert(error.param());
  EXPECT_EQ(names,
            (std::set<std::string>{
                "session.audio.input.noise_reduction", "session.audio.input.transcription.language",
                "session.audio.input.transcription.prompt",
                "session.audio.input.turn_detection.threshold", "session.audio.output.speed",
                "session.colour", "session.tool_choice", "session.truncation"}));
  // And what is said about it is taken again.
  EXPECT_EQ(after(settings.json("sess_1", offer), {.voice = "anna"}, offer).input_format,
            settings.input_format);
}

TEST(RealtimeSettings, SamplingIsAsked) {
  RealtimeOffer offer{.model = "m"};
  offer.sampling.top_p = 0.9;
  const RealtimeSettings warm = after(R"({"temperature": 0.7})", offer);
  EXPECT_EQ(warm.sampling.value().temperature, 0.7);
  EXPECT_EQ(warm.sampling->top_p, 0.9) << "the model's own";
  EXPECT_EQ(after(Json{{"instructions", "x"}}, warm, offer).sampling, warm.sampling);
  EXPECT_FALSE(after(Json{{"temperature", 0}}, warm, offer).sampling.has_value());
  EXPECT_EQ(after(R"({"repetition_penalty": 1.2})", offer).sampling.value().repetition_penalty,
            1.2);
}

TEST(RealtimeSettings, AResponseHasSomeOfItsOwn) {
  Json metadata;
  Refusals refusals;
  const RealtimeSettings session{.instructions = "Be brief.", .voice = "anna"};
  const RealtimeSettings own =
      for_response(Json::parse(R"({"instructions": "Sing.", "metadata": {"a": "b"},
                                   "conversation": "auto", "max_output_tokens": 3})"),
                   session, kSpeaking, metadata, refusals);
  EXPECT_EQ(own.instructions, "Sing.");
  EXPECT_EQ(own.max_output_tokens, 3);
  EXPECT_EQ(metadata["a"], "b");
  EXPECT_TRUE(refusals.empty());
  const RealtimeOffer hearing{.model = "m", .has_recogniser = true};
  for_response(Json::parse(R"({"audio": {"input": {"turn_detection": {"type": "server_vad"}}}})"),
               session, hearing, metadata, refusals);
  EXPECT_EQ(refusals.list().size(), 1u) << "the session decides about that";
  EXPECT_THROW(for_response(Json::parse(R"({"conversation": "none"})"), session, kSpeaking,
                            metadata, refusals),
               ApiError);
}

}  // namespace
}  // namespace predgen::serve

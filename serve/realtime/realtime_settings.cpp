#include "serve/realtime/realtime_settings.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include "serve/main_language.h"
#include "serve/request_fields.h"
#include "serve/tool_request.h"

namespace predgen::serve {
namespace {

constexpr int64_t kMaxSilence = 60'000;  // ms

/// By the API's names for eagerness; OpenAI has "auto" as "medium".
const std::map<std::string, EndWaits>& semantic_waits() {
  static const std::map<std::string, EndWaits> waits{
      {"low", {.shortest_ms = 400, .longest_ms = 2400}},
      {"medium", {}},
      {"high", {.shortest_ms = 100, .longest_ms = 800}}};
  return waits;
}

EndWaits waits_of(const std::string& eagerness, const EndWaits& automatic,
                  const std::string& field) {
  if (eagerness == "auto") return automatic;
  const auto waits = semantic_waits().find(eagerness);
  if (waits == semantic_waits().end()) {
    RequestFields::fail_value(field, "must be low, medium, high or auto");
  }
  return waits->second;
}

void read_flag(RequestFields& fields, const char* name, bool& into) {
  if (!fields.any(name).is_null()) into = fields.flag(name);
}

void read_eagerness(RequestFields& fields, const EndWaits& automatic, TurnDetection& into) {
  const std::string eagerness = fields.text("eagerness").value_or("auto");
  into.end.waits = waits_of(eagerness, automatic, fields.full_name("eagerness"));
  into.eagerness = eagerness;
}

}  // namespace

Json TurnDetection::json() const {
  if (!end.is_detected) return nullptr;
  Json json{{"create_response", creates_response}, {"interrupt_response", interrupts_response}};
  if (end.waits) {
    json["type"] = "semantic_vad";
    json["eagerness"] = eagerness;
  } else {
    json["type"] = "server_vad";
    json["silence_duration_ms"] = end.silence_ms;
    json["idle_timeout_ms"] = nullptr;
  }
  return json;
}

TurnDetection read_turn_detection(RequestFields& session, const std::string& name,
                                  const TurnDetection& before, const EndWaits& waits,
                                  Refusals& refusals) {
  if (session.is_null(name) || session.any(name) == false) return {};
  if (session.any(name).is_null()) return before;
  RequestFields fields = session.object(name);
  const std::string type = fields.text("type").value_or("server_vad");
  TurnDetection detection{.end = {.is_detected = true}};
  if (type == "semantic_vad") {
    detection.end.waits = waits;
    detection.end.by_words = true;
    refusals.attempt([&] { read_eagerness(fields, waits, detection); });
  } else if (type == "server_vad") {
    refusals.attempt([&] {  // of loudness, which is not measured
      fields.expect_neutral("threshold", {0.5});
    });
    refusals.attempt([&] { fields.expect_neutral("idle_timeout_ms", {}); });
    fields.ignore("prefix_padding_ms");  // the recogniser gets all of the sound
    refusals.attempt([&] {
      const auto silence = fields.integer("silence_duration_ms", 0, kMaxSilence);
      detection.end.silence_ms = silence.value_or(detection.end.silence_ms);
    });
  } else {
    RequestFields::fail_unsupported(fields.full_name("type"),
                                    "must be server_vad, semantic_vad, or null instead of both");
  }
  refusals.attempt([&] { read_flag(fields, "create_response", detection.creates_response); });
  refusals.attempt([&] { read_flag(fields, "interrupt_response", detection.interrupts_response); });
  refusals.note_unknown(fields);
  return detection;
}

namespace {

constexpr std::array kEvents{"speculation", "sentence", "calls", "tools", "metrics"};
/// OpenAI's own voices, which its clients request by default.
constexpr std::array kForeignVoices{"alloy", "ash",  "ballad", "cedar", "coral",   "echo", "fable",
                                    "marin", "nova", "onyx",   "sage",  "shimmer", "verse"};

void read_modalities(RequestFields& fields, const char* name, const RealtimeOffer& offer,
                     RealtimeSettings& into) {
  const Json& list = fields.any(name);
  if (list.is_null()) return;
  if (!list.is_array() || list.empty())
    RequestFields::fail_type(fields.full_name(name), "a list of text, audio", list);
  bool has_audio = false;
  for (const Json& modality : list) {
    if (modality != "text" && modality != "audio") {
      RequestFields::fail_value(fields.full_name(name), "must have text, audio or both");
    }
    has_audio |= modality == "audio";
  }
  if (has_audio && !offer.voice) {
    RequestFields::fail_unsupported(fields.full_name(name),
                                    "has audio, but no voice is configured (--tts)");
  }
  into.has_audio = has_audio;
}

void read_max_tokens(RequestFields& fields, const char* name, RealtimeSettings& into) {
  const Json& value = fields.any(name);
  if (value.is_null()) return;
  if (value == "inf") {
    into.max_output_tokens.reset();
  } else {
    into.max_output_tokens = fields.integer(name, 1, 1 << 20);
  }
}

void read_voice(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into) {
  const std::optional<std::string> voice = fields.text("voice");
  if (!voice) return;
  if (!offer.voice)
    RequestFields::fail_unsupported(fields.full_name("voice"),
                                    "asks for one, but none is configured");
  into.voice = voice_named(*voice, offer);
}

void read_speed(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into) {
  const std::optional<double> speed = fields.number("speed", 0.25, 4);
  if (!speed) return;
  const SpeedRange range = offer.voice ? offer.voice->speeds() : SpeedRange{};
  if (!range.has(*speed)) {
    RequestFields::fail_unsupported(
        fields.full_name("speed"),
        fmt::format("must be from {} to {} with this voice", range.slowest, range.fastest));
  }
  into.speed = *speed;
}

void read_language(RequestFields& transcription, const RealtimeOffer& offer) {
  const std::optional<std::string> language = transcription.text("language");
  if (!language || language->empty() || main_language(*language) == offer.language) return;
  const std::string own = offer.language.empty() ? "of its own" : offer.language;
  RequestFields::fail_unsupported(transcription.full_name("language"),
                                  "cannot be chosen: the recogniser's is " + own);
}

/// Names differ between today's API and the beta.
void read_listening(RequestFields& fields, const char* transcription, const char* detection,
                    const RealtimeOffer& offer, RealtimeSettings& into, Refusals& refusals) {
  if (!offer.has_recogniser) {
    for (const char* name : {transcription, detection}) {
      refusals.attempt([&] { fields.expect_neutral(name, {}); });
    }
    return;
  }
  refusals.attempt([&] {
    RequestFields how = fields.object(transcription);
    how.ignore("model");  // whatever its name: there is only one
    refusals.attempt([&] { read_language(how, offer); });
    refusals.attempt([&] { how.expect_neutral("prompt", {""}); });
    refusals.note_unknown(how);
  });
  refusals.attempt([&] {
    into.turn_detection =
        read_turn_detection(fields, detection, into.turn_detection, offer.waits, refusals);
  });
}

void read_sound_in(RequestFields& audio, const RealtimeOffer& offer, RealtimeSettings& into,
                   Refusals& refusals) {
  RequestFields input = audio.object("input");
  refusals.attempt(
      [&] { into.input_format = read_line_format(input, "format", into.input_format); });
  refusals.attempt([&] { input.expect_neutral("noise_reduction", {}); });
  read_listening(input, "transcription", "turn_detection", offer, into, refusals);
  refusals.note_unknown(input);
}

void read_sound_out(RequestFields& audio, const RealtimeOffer& offer, RealtimeSettings& into,
                    Refusals& refusals) {
  RequestFields output = audio.object("output");
  refusals.attempt(
      [&] { into.output_format = read_line_format(output, "format", into.output_format); });
  refusals.attempt([&] { read_speed(output, offer, into); });
  refusals.attempt([&] { read_voice(output, offer, into); });
  refusals.note_unknown(output);
}

void read_audio(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into,
                Refusals& refusals) {
  RequestFields audio = fields.object("audio");
  refusals.attempt([&] { read_sound_in(audio, offer, into, refusals); });
  refusals.attempt([&] { read_sound_out(audio, offer, into, refusals); });
  refusals.note_unknown(audio);
}

/// Without any of the fields nothing changes.
void read_sampling(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into) {
  AskedSampling asked;
  asked.seed = std::random_device()();
  fields.numbers(settings_of(asked));
  if (asked.top_k == -1) asked.top_k = 0;
  const bool asks = asked.temperature || asked.top_p || asked.min_p || asked.repetition_penalty ||
                    asked.top_k || asked.frequency_penalty || asked.presence_penalty;
  if (!asks) return;
  const std::optional<SamplingConfig> sampling = choose_sampling(asked, offer.sampling);
  if (sampling && !offer.may_sample) {
    RequestFields::fail_unsupported(fields.full_name("temperature"),
                                    "and the like are not supported: the server's verifier "
                                    "(realtime.verifier) takes the likeliest tokens");
  }
  into.sampling = sampling;
}

void read_tools_offered(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into) {
  if (auto tools = read_tools(fields, ToolShape::kFlat)) {
    if (!tools->empty() && !offer.has_tools) {
      RequestFields::fail_unsupported(
          fields.full_name("tools"),
          "are not supported: the model's chat template has an unknown form of calls");
    }
    into.tools = std::move(*tools);
  }
}

/// Fields that a session and a response have in common.
void read_common(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into,
                 Refusals& refusals) {
  const auto attempt = [&](auto read) { refusals.attempt(read); };
  attempt([&] {
    if (const auto text = fields.text("instructions")) into.instructions = *text;
  });
  // Some of these are the beta's names.
  for (const char* name : {"output_modalities", "modalities"}) {
    attempt([&] { read_modalities(fields, name, offer, into); });
  }
  for (const char* name : {"max_output_tokens", "max_response_output_tokens"}) {
    attempt([&] { read_max_tokens(fields, name, into); });
  }
  attempt([&] { read_voice(fields, offer, into); });
  attempt([&] {
    into.input_format = read_line_format(fields, "input_audio_format", into.input_format);
  });
  attempt([&] {
    into.output_format = read_line_format(fields, "output_audio_format", into.output_format);
  });
  attempt([&] { read_speed(fields, offer, into); });
  attempt([&] { read_audio(fields, offer, into, refusals); });
  attempt([&] { read_tools_offered(fields, offer, into); });
  attempt([&] {
    const ToolChoice choice = read_tool_choice(fields).value_or(into.tool_choice);
    check_tool_choice(choice, into.tools, fields.full_name("tool_choice"));
    into.tool_choice = choice;
  });
  attempt([&] { read_sampling(fields, offer, into); });
  attempt([&] { fields.expect_neutral("prompt", {}); });
}

std::set<std::string> read_events(const Json& events, const std::string& where) {
  if (!events.is_array()) RequestFields::fail_type(where, "a list", events);
  std::set<std::string> wanted;
  for (const Json& event : events) {
    if (std::ranges::none_of(kEvents, [&](const char* name) { return event == name; })) {
      RequestFields::fail_value(where, fmt::format("must be of {}", fmt::join(kEvents, ", ")));
    }
    wanted.insert(event.get<std::string>());
  }
  return wanted;
}

void read_ours(RequestFields& fields, RealtimeSettings& into, Refusals& refusals) {
  RequestFields ours = fields.object("predgen");
  refusals.attempt([&] {
    if (!ours.any("speculation").is_null()) into.speculates = ours.flag("speculation");
  });
  refusals.attempt([&] {
    const Json& events = ours.any("events");
    if (!events.is_null()) into.events = read_events(events, ours.full_name("events"));
  });
  refusals.note_unknown(ours);
}

void read_model(RequestFields& fields, const RealtimeOffer& offer) {
  const std::optional<std::string> model = fields.text("model");
  if (!model || is_model_named(*model, offer)) return;
  RequestFields::fail_unsupported(fields.full_name("model"), "can be " + offer.model + " only");
}

}  // namespace

std::string voice_named(const std::string& name, const RealtimeOffer& offer) {
  const bool is_foreign =
      std::ranges::any_of(kForeignVoices, [&](const char* foreign) { return name == foreign; });
  return is_foreign ? offer.voice->names().front() : name;
}

bool is_model_named(const std::string& name, const RealtimeOffer& offer) {
  return name.empty() || name == offer.model || name.starts_with("gpt-");
}

Json RealtimeSettings::json(const std::string& id, const RealtimeOffer& offer) const {
  Json transcription;
  if (offer.has_recogniser) transcription["model"] = "recogniser";
  if (offer.has_recogniser && !offer.language.empty()) transcription["language"] = offer.language;
  const Json input{{"format", input_format.json()},
                   {"transcription", transcription},
                   {"noise_reduction", nullptr},
                   {"turn_detection", turn_detection.json()}};
  const Json output{{"format", output_format.json()},
                    {"voice", voice.empty() ? Json() : Json(voice)},
                    {"speed", speed}};
  return {{"type", "realtime"},
          {"object", "realtime.session"},
          {"id", id},
          {"model", offer.model},
          {"output_modalities", Json::array({has_audio ? "audio" : "text"})},
          {"instructions", instructions},
          {"tools", tools_json(tools, ToolShape::kFlat)},
          {"tool_choice", tool_choice_json(tool_choice, ToolShape::kFlat)},
          {"max_output_tokens", max_output_tokens ? Json(*max_output_tokens) : Json("inf")},
          {"tracing", nullptr},
          {"truncation", "auto"},
          {"prompt", nullptr},
          {"include", nullptr},
          {"audio", {{"input", input}, {"output", output}}},
          {"predgen", {{"speculation", speculates}, {"events", events}}}};
}

RealtimeSettings updated(const Json& session, const RealtimeSettings& before,
                         const RealtimeOffer& offer, Refusals& refusals) {
  RealtimeSettings settings = before;
  RequestFields fields(session, "session");
  // What session.created has beside settings, and tracing, which changes no answer.
  for (const char* name : {"id", "object", "expires_at", "client_secret", "tracing"}) {
    fields.ignore(name);
  }
  const auto attempt = [&](auto read) { refusals.attempt(read); };
  attempt([&] { fields.expect_neutral("type", {"realtime"}); });
  attempt([&] { read_model(fields, offer); });
  attempt([&] { fields.expect_neutral("include", {Json::array()}); });
  attempt([&] { fields.expect_neutral("input_audio_noise_reduction", {}); });
  attempt([&] { fields.expect_neutral("truncation", {"auto"}); });
  read_listening(fields, "input_audio_transcription", "turn_detection", offer, settings, refusals);
  read_common(fields, offer, settings, refusals);
  attempt([&] { read_ours(fields, settings, refusals); });
  refusals.note_unknown(fields);
  return settings;
}

RealtimeSettings for_response(const Json& response, const RealtimeSettings& session,
                              const RealtimeOffer& offer, Json& metadata, Refusals& refusals) {
  RealtimeSettings settings = session;
  if (response.is_null()) return settings;
  RequestFields fields(response, "response");
  fields.expect_neutral("conversation", {"auto"});
  fields.expect_neutral("input", {});
  RealtimeOffer spoken = offer;
  spoken.has_recogniser = false;  // listening is configured by the session
  read_common(fields, spoken, settings, refusals);
  settings.input_format = session.input_format;
  if (settings.voice != session.voice || settings.speed != session.speed) {
    refusals.note({.param = "response.audio.output", .code = "unsupported_value"},
                  "a response has the session's voice and speed: change them by session.update");
    settings.voice = session.voice;
    settings.speed = session.speed;
  }
  metadata = fields.any("metadata");
  refusals.note_unknown(fields);
  return settings;
}

}  // namespace predgen::serve

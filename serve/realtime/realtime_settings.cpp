#include "serve/realtime/realtime_settings.h"

#include <algorithm>
#include <array>

#include "serve/request_fields.h"
#include "serve/tool_request.h"

namespace predgen::serve {
namespace {

constexpr std::array kEvents{"speculation", "sentence", "metrics"};
/// OpenAI's own voices, which its clients request by default.
constexpr std::array kForeignVoices{"alloy", "ash",  "ballad", "cedar", "coral",   "echo", "fable",
                                    "marin", "nova", "onyx",   "sage",  "shimmer", "verse"};

Json format_json() { return {{"type", "audio/pcm"}, {"rate", kRealtimeRate}}; }

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

void expect_format(RequestFields& fields, const char* name) {
  fields.expect_neutral(name, {format_json(), Json{{"type", "audio/pcm"}}});
}

/// Names differ between today's API and the beta.
void read_listening(RequestFields& fields, const char* transcription, const char* detection,
                    const RealtimeOffer& offer, RealtimeSettings& into) {
  if (!offer.has_recogniser) {
    for (const char* name : {transcription, detection}) fields.expect_neutral(name, {});
    return;
  }
  RequestFields how = fields.object(transcription);
  how.ignore("model");  // whatever its name: there is only one
  for (const char* name : {"language", "prompt"}) how.expect_neutral(name, {});
  how.finish();
  into.turn_detection = read_turn_detection(fields, detection, into.turn_detection, offer.waits);
}

void read_audio(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into) {
  RequestFields audio = fields.object("audio");
  RequestFields input = audio.object("input");
  expect_format(input, "format");
  input.expect_neutral("noise_reduction", {});
  read_listening(input, "transcription", "turn_detection", offer, into);
  input.finish();
  RequestFields output = audio.object("output");
  expect_format(output, "format");
  output.expect_neutral("speed", {1.0, 1});
  read_voice(output, offer, into);
  output.finish();
  audio.finish();
}

void read_functions(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into) {
  if (auto tools = read_tools(fields, ToolShape::kFlat)) {
    if (!tools->empty() && !offer.has_tools) {
      RequestFields::fail_unsupported(
          fields.full_name("tools"),
          "are not supported: the model's chat template has none, or an unknown form of calls");
    }
    into.tools = std::move(*tools);
  }
  into.may_call = read_tool_choice(fields).value_or(into.may_call);
}

/// Fields that a session and a response have in common.
void read_common(RequestFields& fields, const RealtimeOffer& offer, RealtimeSettings& into) {
  if (const auto text = fields.text("instructions")) into.instructions = *text;
  read_modalities(fields, "output_modalities", offer, into);
  read_modalities(fields, "modalities", offer, into);  // the next six are the beta's fields
  read_max_tokens(fields, "max_output_tokens", into);
  read_max_tokens(fields, "max_response_output_tokens", into);
  read_voice(fields, offer, into);
  fields.expect_neutral("input_audio_format", {"pcm16"});
  fields.expect_neutral("output_audio_format", {"pcm16"});
  read_audio(fields, offer, into);
  read_functions(fields, offer, into);
  fields.expect_neutral("temperature", {});
  fields.expect_neutral("prompt", {});
}

void read_ours(RequestFields& fields, RealtimeSettings& into) {
  RequestFields ours = fields.object("predgen");
  if (const Json& speculation = ours.any("speculation"); !speculation.is_null()) {
    into.speculates = ours.flag("speculation");
  }
  const Json& events = ours.any("events");
  if (!events.is_null()) {
    if (!events.is_array()) RequestFields::fail_type(ours.full_name("events"), "a list", events);
    into.events.clear();
    for (const Json& event : events) {
      if (std::ranges::none_of(kEvents, [&](const char* name) { return event == name; })) {
        RequestFields::fail_value(ours.full_name("events"),
                                  "must be of speculation, sentence, metrics");
      }
      into.events.insert(event.get<std::string>());
    }
  }
  ours.finish();
}

}  // namespace

std::string voice_named(const std::string& name, const RealtimeOffer& offer) {
  const bool is_foreign =
      std::ranges::any_of(kForeignVoices, [&](const char* foreign) { return name == foreign; });
  return is_foreign ? offer.voice->names().front() : name;
}

Json RealtimeSettings::json(const std::string& id, const RealtimeOffer& offer) const {
  const Json input{{"format", format_json()},
                   {"transcription", offer.has_recogniser ? Json{{"model", "recogniser"}} : Json()},
                   {"noise_reduction", nullptr},
                   {"turn_detection", turn_detection.json()}};
  const Json output{
      {"format", format_json()}, {"voice", voice.empty() ? Json() : Json(voice)}, {"speed", 1.0}};
  return {{"type", "realtime"},
          {"object", "realtime.session"},
          {"id", id},
          {"model", offer.model},
          {"output_modalities", Json::array({has_audio ? "audio" : "text"})},
          {"instructions", instructions},
          {"tools", tools_json(tools, ToolShape::kFlat)},
          {"tool_choice", may_call ? "auto" : "none"},
          {"max_output_tokens", max_output_tokens ? Json(*max_output_tokens) : Json("inf")},
          {"tracing", nullptr},
          {"truncation", "auto"},
          {"prompt", nullptr},
          {"include", nullptr},
          {"audio", {{"input", input}, {"output", output}}},
          {"predgen", {{"speculation", speculates}, {"events", events}}}};
}

RealtimeSettings updated(const Json& session, const RealtimeSettings& before,
                         const RealtimeOffer& offer) {
  RealtimeSettings settings = before;
  RequestFields fields(session, "session");
  fields.expect_neutral("type", {"realtime"});
  fields.expect_neutral("model", {offer.model});
  for (const char* name : {"tracing", "include", "input_audio_noise_reduction"}) {
    fields.expect_neutral(name, {});
  }
  read_listening(fields, "input_audio_transcription", "turn_detection", offer, settings);
  fields.expect_neutral("truncation", {"auto"});
  read_common(fields, offer, settings);
  read_ours(fields, settings);
  fields.finish();
  return settings;
}

RealtimeSettings for_response(const Json& response, const RealtimeSettings& session,
                              const RealtimeOffer& offer, Json& metadata) {
  RealtimeSettings settings = session;
  if (response.is_null()) return settings;
  RequestFields fields(response, "response");
  fields.expect_neutral("conversation", {"auto"});
  fields.expect_neutral("input", {});
  RealtimeOffer spoken = offer;
  spoken.has_recogniser = false;  // listening is configured by the session
  read_common(fields, spoken, settings);
  metadata = fields.any("metadata");
  fields.finish();
  return settings;
}

}  // namespace predgen::serve

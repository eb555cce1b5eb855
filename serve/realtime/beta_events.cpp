#include "serve/realtime/beta_events.h"

#include <string>
#include <utility>

namespace predgen::serve {
namespace {

/// Today's beginning of a name, and the beta's.
constexpr std::pair<const char*, const char*> kBetaNames[] = {
    {"response.output_text.", "response.text."},
    {"response.output_audio_transcript.", "response.audio_transcript."},
    {"response.output_audio.", "response.audio."},
    {"conversation.item.added", "conversation.item.created"}};

void rename_type(Json& event) {
  const auto type = event["type"].get<std::string>();
  for (const auto& [name, beta] : kBetaNames) {
    if (type.starts_with(name)) event["type"] = beta + type.substr(std::string(name).size());
  }
}

void rename_field(Json& object, const char* name, const char* beta) {
  if (!object.contains(name)) return;
  Json value = object[name];
  object.erase(name);
  object[beta] = std::move(value);
}

void change_item(Json& item) {
  if (!item.contains("content")) return;
  for (Json& part : item["content"]) {
    if (part["type"] == "output_text") part["type"] = "text";
    if (part["type"] == "output_audio") part["type"] = "audio";
  }
}

/// Sound comes with its transcript, which is a text.
Json beta_modalities(const Json& today) {
  return today == Json::array({"audio"}) ? Json::array({"text", "audio"}) : today;
}

void change_response(Json& response) {
  rename_field(response, "output_modalities", "modalities");
  response["modalities"] = beta_modalities(response["modalities"]);
  for (Json& item : response["output"]) change_item(item);
}

const char* format_name(const Json& format) {
  if (format["type"] == "audio/pcmu") return "g711_ulaw";
  return format["type"] == "audio/pcma" ? "g711_alaw" : "pcm16";
}

void change_session(Json& session) {
  const Json audio = session["audio"];
  for (const char* name : {"audio", "type", "truncation", "prompt", "include"}) session.erase(name);
  rename_field(session, "output_modalities", "modalities");
  session["modalities"] = beta_modalities(session["modalities"]);
  rename_field(session, "max_output_tokens", "max_response_output_tokens");
  session["voice"] = audio["output"]["voice"];
  session["input_audio_format"] = format_name(audio["input"]["format"]);
  session["output_audio_format"] = format_name(audio["output"]["format"]);
  session["input_audio_transcription"] = audio["input"]["transcription"];
  session["turn_detection"] = audio["input"]["turn_detection"];
}

}  // namespace

std::optional<Json> to_beta(Json event) {
  if (event["type"] == "conversation.item.done") return std::nullopt;
  rename_type(event);
  if (event.contains("session")) change_session(event["session"]);
  if (event.contains("response")) change_response(event["response"]);
  if (event.contains("item")) change_item(event["item"]);
  return event;
}

}  // namespace predgen::serve

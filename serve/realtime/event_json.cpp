#include "serve/realtime/event_json.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "serve/new_id.h"
#include "serve/request_fields.h"
#include "serve/tool_request.h"

namespace predgen::serve {
namespace {

std::string content_type(const ConversationItem& item) {
  if (item.role != "assistant") return item.is_spoken ? "input_audio" : "input_text";
  return item.num_samples > 0 ? "output_audio" : "output_text";
}

std::string parse_content(const Json& content, const ConversationItem& item,
                          const std::string& where) {
  if (!content.is_array()) RequestFields::fail_type(where, "a list of parts", content);
  std::string text;
  for (const Json& one : content) {
    RequestFields part(one, where);
    const std::string type = part.text("type", /*required=*/true).value();
    const bool is_own = item.role == "assistant";
    if (type == "text" || type == (is_own ? "output_text" : "input_text")) {
      text += part.text("text", /*required=*/true).value();
    } else if (type == "audio" || type == (is_own ? "output_audio" : "input_audio")) {
      part.ignore("audio");  // of an earlier turn; what counts are its words
      text += part.text("transcript", /*required=*/true).value();
    } else {
      RequestFields::fail_unsupported(where, fmt::format("has no use for {}", type));
    }
    part.finish();
  }
  return text;
}

void parse_message(RequestFields& fields, ConversationItem& item) {
  item.role = fields.text("role", /*required=*/true).value();
  if (item.role == "developer") item.role = "system";
  if (item.role != "system" && item.role != "user" && item.role != "assistant") {
    RequestFields::fail_value(fields.full_name("role"), "must be system, user or assistant");
  }
  const std::string content = fields.full_name("content");
  item.text = parse_content(fields.any("content", /*required=*/true), item, content);
  if (item.text.empty()) RequestFields::fail_value(content, "must have a text");
}

void parse_call(RequestFields& fields, ConversationItem& item) {
  item.role = "assistant";
  const std::string arguments = fields.text("arguments").value_or("");
  item.call = {.id = fields.text("call_id").value_or(new_id("call_")),
               .name = fields.text("name", /*required=*/true).value(),
               .arguments = read_arguments(arguments, fields.full_name("arguments"))};
}

void parse_output(RequestFields& fields, ConversationItem& item) {
  item.role = "tool";
  item.call_id = fields.text("call_id", /*required=*/true).value();
  item.text = fields.text("output", /*required=*/true).value();
}

}  // namespace

ConversationItem parse_item(const Json& json, const std::string& where) {
  RequestFields fields(json, where);
  const std::string type = fields.text("type", /*required=*/true).value();
  fields.expect_neutral("object", {"realtime.item"});
  fields.ignore("status");
  ConversationItem item{.id = fields.text("id").value_or(new_id("item_")), .role = "", .text = ""};
  if (type == "message") {
    parse_message(fields, item);
  } else if (type == "function_call") {
    parse_call(fields, item);
  } else if (type == "function_call_output") {
    parse_output(fields, item);
  } else {
    RequestFields::fail_unsupported(fields.full_name("type"),
                                    "can be message, function_call and function_call_output only");
  }
  fields.finish();
  return item;
}

Json to_json(const ConversationItem& item) {
  Json json{{"id", item.id}, {"object", "realtime.item"}};
  if (item.call) {
    json.update({{"type", "function_call"},
                 {"status", item.status},
                 {"call_id", item.call->id},
                 {"name", item.call->name},
                 {"arguments", item.call->arguments}});
    return json;
  }
  if (item.role == "tool") {
    json.update({{"type", "function_call_output"},
                 {"status", item.status},
                 {"call_id", item.call_id},
                 {"output", item.text}});
    return json;
  }
  const std::string type = content_type(item);
  const char* name = type.ends_with("audio") ? "transcript" : "text";
  json.update({{"type", "message"},
               {"status", item.status},
               {"role", item.role},
               {"content", Json::array({Json{{"type", type}, {name, item.text}}})}});
  return json;
}

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

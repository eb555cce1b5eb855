#include "serve/openai/chat_messages.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "serve/request_fields.h"
#include "serve/tool_request.h"

namespace predgen::serve {
namespace {

/// The name of the field that holds a part's text; empty: there is no such type.
std::string text_field(const std::string& type) {
  if (type == "text" || type == "input_text" || type == "output_text") return "text";
  if (type == "refusal" || type == "thinking") return type;
  return type == "reasoning" ? "text" : "";
}

std::string string_at(const Json& object, const char* key) {
  const Json value = object.value(key, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

Message read_answer(const Json& message, const std::string& where) {
  Message read{.role = "assistant", .content = ""};
  read.tool_calls = read_tool_calls(message.value("tool_calls", Json()), where + ".tool_calls");
  if (const Json call = message.value("function_call", Json()); !call.is_null()) {
    RequestFields::fail_unsupported(where + ".function_call", "is OpenAI's old name: tool_calls");
  }
  for (const char* key : {"reasoning_content", "reasoning"}) {
    if (read.thought.empty()) read.thought = string_at(message, key);
  }
  const Json content = message.value("content", Json());
  if (content.is_null()) {
    read.content = string_at(message, "refusal");
  } else {
    read.content = read_content(content, where + ".content", &read.thought);
  }
  return read;
}

Message read_message(const Json& message, const std::string& where) {
  if (!message.is_object()) RequestFields::fail_type(where, "an object", message);
  const Json role = message.value("role", Json());
  if (role == "assistant") return read_answer(message, where);
  const Json content = message.value("content", Json());
  if (role == "tool") {
    const Json id = message.value("tool_call_id", Json());
    if (!id.is_string()) RequestFields::fail_type(where + ".tool_call_id", "a string", id);
    Message read{.role = "tool", .content = ""};
    read.tool_call_id = id.get<std::string>();
    if (!content.is_null()) read.content = read_content(content, where + ".content");
    return read;
  }
  if (role != "system" && role != "developer" && role != "user") {
    RequestFields::fail_value(where + ".role",
                              "must be system, developer, user, assistant or tool");
  }
  return {.role = role == "user" ? "user" : "system",
          .content = read_content(content, where + ".content")};
}

}  // namespace

std::string read_content(const Json& content, const std::string& where, std::string* thought) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) RequestFields::fail_type(where, "a string or a list of parts", content);
  std::string text;
  for (const Json& part : content) {
    if (part.is_string()) {
      text += part.get<std::string>();
      continue;
    }
    if (!part.is_object()) RequestFields::fail_type(where, "a list of strings or parts", part);
    const std::string type = string_at(part, "type");
    const bool is_thought = type == "thinking" || type == "reasoning";
    const std::string field = text_field(type);
    if (field.empty() || (is_thought && thought == nullptr)) {
      RequestFields::fail_value(
          where, fmt::format("has a part of the type '{}', but the model is given text only: its "
                             R"(parts must be {{"type": "text", "text": "..."}})",
                             shortened(type)));
    }
    if (!part.contains(field) || !part[field].is_string()) {
      RequestFields::fail_value(where, fmt::format("a part of the type '{}' must have a text in "
                                                   "its field '{}'",
                                                   type, field));
    }
    (is_thought ? *thought : text) += part[field].get<std::string>();
  }
  return text;
}

std::vector<Message> read_messages(const Json& list) {
  if (!list.is_array()) RequestFields::fail_type("messages", "a list", list);
  if (list.empty()) RequestFields::fail_value("messages", "must not be empty");
  std::vector<Message> messages;
  for (const Json& message : list) {
    const std::string where = fmt::format("messages[{}]", messages.size());
    Message read = read_message(message, where);
    if (read.role == "tool" && !has_call(messages, read.tool_call_id)) {
      RequestFields::fail_value(where + ".tool_call_id", "no message before it has such a call");
    }
    messages.push_back(std::move(read));
  }
  return messages;
}

}  // namespace predgen::serve

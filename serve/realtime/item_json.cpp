#include "serve/realtime/item_json.h"

#include <fmt/format.h>

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

}  // namespace predgen::serve

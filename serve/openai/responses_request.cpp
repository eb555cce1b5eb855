#include "serve/openai/responses_request.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "serve/api_error.h"
#include "serve/request_fields.h"

namespace predgen::serve {
namespace {

/// Names of chats, and what they are here.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
    {{"max_completion_tokens", "max_output_tokens"},
     {"reasoning_effort", "reasoning.effort"},
     {"response_format.json_schema", "text.format"},
     {"response_format", "text.format"},
     {"messages", "input"}}};

[[noreturn]] void fail_stored(const std::string& name) {
  RequestFields::fail_unsupported(
      name, "is not supported: no response is stored; send the whole conversation as 'input'");
}

/// The text of a message's or an output's content: a string, or parts.
Json read_parts(const Json& content, const std::string& where) {
  if (!content.is_array()) return content;  // the chat's reader says what is wrong with others
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    RequestFields part(content[i], fmt::format("{}[{}]", where, i));
    const std::string type = part.text("type", /*required=*/true).value();
    if (type == "refusal") {
      text += part.text("refusal", /*required=*/true).value();
    } else if (type == "input_text" || type == "output_text" || type == "text") {
      text += part.text("text", /*required=*/true).value();
    } else {
      RequestFields::fail_unsupported(
          part.full_name("type"),
          fmt::format("is '{}', but the model takes input_text only", shortened(type)));
    }
  }
  return text;
}

/// Turns items into messages of a chat.
class ItemReader {
 public:
  void read(const Json& item, const std::string& where) {
    RequestFields fields(item, where);
    place_ = where;
    const std::string type = fields.text("type").value_or("message");
    if (type == "message") {
      add_message(fields);
    } else if (type == "function_call") {
      add_call(fields);
    } else if (type == "function_call_output") {
      const Json& output = fields.any("output", /*required=*/true);
      add({{"role", "tool"},
           {"tool_call_id", fields.text("call_id", /*required=*/true).value()},
           {"content", read_parts(output, fields.full_name("output"))}});
    } else if (type == "item_reference") {
      fail_stored(fields.full_name("type"));
    } else if (type != "reasoning") {  // thoughts are not part of a history
      RequestFields::fail_unsupported(
          fields.full_name("type"),
          fmt::format("is '{}', but must be message, function_call, function_call_output or "
                      "reasoning",
                      shortened(type)));
    }
  }
  void add_system(const std::string& text) {
    place_ = "instructions";
    add({{"role", "system"}, {"content", text}});
  }
  const Json& messages() const { return messages_; }
  /// Where each message comes from.
  const std::vector<std::string>& places() const { return places_; }

 private:
  void add(Json message) {
    messages_.push_back(std::move(message));
    places_.push_back(place_);
  }

  void add_message(RequestFields& fields) {
    const std::string role = fields.text("role", /*required=*/true).value();
    if (role != "user" && role != "assistant" && role != "system" && role != "developer") {
      RequestFields::fail_value(fields.full_name("role"),
                                "must be user, assistant, system or developer");
    }
    const Json& content = fields.any("content", /*required=*/true);
    add({{"role", role}, {"content", read_parts(content, fields.full_name("content"))}});
  }

  /// Calls of one answer are one message, with the text before them.
  void add_call(RequestFields& fields) {
    const Json call{{"id", fields.text("call_id", /*required=*/true).value()},
                    {"type", "function"},
                    {"function",
                     {{"name", fields.text("name", /*required=*/true).value()},
                      {"arguments", fields.text("arguments").value_or("")}}}};
    if (messages_.empty() || messages_.back()["role"] != "assistant") {
      add({{"role", "assistant"}, {"content", nullptr}});
    }
    messages_.back()["tool_calls"].push_back(call);
  }

  Json messages_ = Json::array();
  std::vector<std::string> places_;
  std::string place_;  // of what is read now
};

ItemReader read_input(RequestFields& fields) {
  ItemReader reader;
  if (const auto instructions = fields.text("instructions");
      instructions && !instructions->empty()) {
    reader.add_system(*instructions);
  }
  const Json& input = fields.any("input", /*required=*/true);
  if (input.is_string()) {
    reader.read({{"role", "user"}, {"content", input}}, "input");
  } else if (!input.is_array()) {
    RequestFields::fail_type("input", "a string or a list of items", input);
  } else if (input.empty()) {
    RequestFields::fail_value("input", "must not be empty");
  }
  for (size_t i = 0; input.is_array() && i < input.size(); ++i) {
    reader.read(input[i], fmt::format("input[{}]", i));
  }
  return reader;
}

/// Beside its type a function has its fields here, in chats they are in an object.
Json nested(const Json& tool) {
  if (!tool.is_object() || tool.value("type", Json()) != "function" || tool.contains("function")) {
    return tool;
  }
  Json function = tool;
  function.erase("type");
  return {{"type", "function"}, {"function", std::move(function)}};
}

void read_tools_field(RequestFields& fields, Json& chat) {
  const Json& tools = fields.any("tools");
  if (!tools.is_null()) chat["tools"] = tools;
  if (tools.is_array()) {
    for (Json& tool : chat["tools"]) tool = nested(tool);
  }
  const Json& choice = fields.any("tool_choice");
  if (!choice.is_null()) chat["tool_choice"] = nested(choice);
}

void read_text_field(RequestFields& fields, Json& chat) {
  RequestFields text = fields.object("text");
  text.ignore("verbosity");
  Json format = text.any("format");
  text.finish();
  if (format.is_null()) return;
  if (format.is_object() && format.value("type", Json()) == "json_schema" &&
      !format.contains("json_schema")) {
    Json schema = format;
    schema.erase("type");
    format = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
  }
  chat["response_format"] = std::move(format);
}

void read_reasoning_field(RequestFields& fields, Json& chat) {
  RequestFields reasoning = fields.object("reasoning");
  reasoning.ignore("summary");
  reasoning.ignore("generate_summary");
  const Json& effort = reasoning.any("effort");
  if (!effort.is_null()) chat["reasoning_effort"] = effort;
  reasoning.finish();
}

void read_the_rest(RequestFields& fields) {
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    if (!fields.any(name).is_null()) fail_stored(name);
  }
  fields.expect_neutral("background", {Json(false)});
  fields.expect_neutral("messages", {});  // input is their name here
  const Json& include = fields.any("include");
  for (const Json& one : include.is_array() ? include : Json::array()) {
    if (one != "message.output_text.logprobs") continue;  // others are of tools that are not here
    RequestFields::fail_unsupported("include", "has logprobs, which only chat completions give");
  }
  // Truncation: an input that is too long is refused either way.
  for (const char* name : {"truncation", "max_tool_calls", "stream_options"}) fields.ignore(name);
}

/// `text`, with the names of chats as they are here. `places`: of the messages.
std::string renamed(std::string text, const std::vector<std::string>& places) {
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string chat = fmt::format("messages[{}]", i);
    if (const size_t at = text.find(chat); at != std::string::npos) {
      text.replace(at, chat.size(), places[i]);
    }
  }
  for (const auto& [chat, here] : kNames) {
    for (size_t at = text.find(chat); at != std::string::npos; at = text.find(chat, at)) {
      text.replace(at, chat.size(), here);
      at += here.size();
    }
  }
  for (size_t at = 0; text.find("tools[") != std::string::npos &&
                      (at = text.find("].function.", at)) != std::string::npos;) {
    text.erase(at + 1, std::string_view(".function").size());
  }
  return text;
}

}  // namespace

ApiError as_of_responses(const ApiError& error, const std::vector<std::string>& places) {
  return ApiError({.status = error.status(),
                   .type = error.fields()["type"].get<std::string>(),
                   .param = renamed(error.param(), places),
                   .code = error.code()},
                  renamed(error.what(), places));
}

ResponsesRequest parse_responses_request(std::string_view body) {
  RequestFields fields(body);
  Json chat = Json::object();
  const ItemReader input = read_input(fields);
  chat["messages"] = input.messages();
  const Json& most = fields.any("max_output_tokens");
  if (!most.is_null()) chat["max_completion_tokens"] = most;
  read_tools_field(fields, chat);
  read_text_field(fields, chat);
  read_reasoning_field(fields, chat);
  read_the_rest(fields);
  ResponsesRequest request{.asked = fields.all()};
  for (const auto& [name, value] : request.asked.items()) {  // others mean what they mean in chats
    if (!fields.known().contains(name)) chat[name] = value;
  }
  try {
    request.chat = parse_chat_request(chat.dump());
  } catch (const ApiError& error) {
    throw as_of_responses(error, input.places());
  }
  if (request.chat.num_choices != 1) RequestFields::fail_unsupported("n", "is 1 for a response");
  if (request.chat.logprobs) {
    RequestFields::fail_unsupported("logprobs", "are given by chat completions only");
  }
  return request;
}

}  // namespace predgen::serve

#include "data/corpus_row.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "text/tools/tool_call.h"

namespace predgen::data {

std::string role_named(const std::string& name) {
  if (name == "human") return "user";
  for (const std::string_view model : {"gpt", "chatgpt", "bard", "bing", "model"}) {
    if (name == model) return "assistant";
  }
  if (name == "developer") return "system";
  return name;
}

bool is_tool_role(const std::string& name) {
  constexpr std::array<std::string_view, 8> kToolRoles{
      "tool",        "function",      "function_call",     "tool_call",
      "observation", "tool_response", "function_response", "ipython"};
  return std::ranges::find(kToolRoles, name) != kToolRoles.end();
}

namespace {

/// A field that a corpus may lack or leave null.
template <typename T>
T field_or(const Json& row, const char* key, T fallback) {
  if (!row.contains(key) || row.at(key).is_null()) return fallback;
  try {
    return row.at(key).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw UserError("\"{}\" has the wrong type", key);
  }
}

/// A text, or the texts of a list of parts; nullopt: none, or something beside them.
std::optional<std::string> text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array() || content.empty()) return std::nullopt;
  std::string text;
  for (const Json& part : content) {
    if (part.is_string()) {
      text += part.get<std::string>();
      continue;
    }
    const Json type = part.is_object() ? part.value("type", Json("text")) : Json();
    if (type != "text" && type != "input_text" && type != "output_text") return std::nullopt;
    const Json words = part.value("text", Json());
    if (!words.is_string()) return std::nullopt;
    text += words.get<std::string>();
  }
  return text;
}

bool has(const Json& message, const char* key) {
  return message.contains(key) && !message.at(key).empty();
}

/// OpenAI's calls, whose arguments are an object or its text; nullopt: something else.
std::optional<std::vector<ToolCall>> read_calls(const Json& list) {
  std::vector<ToolCall> calls;
  if (!list.is_array()) return std::nullopt;
  for (const Json& one : list) {
    const Json function = one.is_object() ? one.value("function", Json()) : Json();
    if (!function.is_object() || !function.value("name", Json()).is_string()) return std::nullopt;
    Json arguments = function.value("arguments", Json::object());
    if (arguments.is_string()) {
      arguments = Json::parse(arguments.get<std::string>(), nullptr, /*allow_exceptions=*/false);
    }
    if (!arguments.is_object()) return std::nullopt;
    calls.push_back({.id = one.value("id", Json("")).is_string() ? one.value("id", "") : "",
                     .name = function["name"].get<std::string>(),
                     .arguments = to_text(arguments)});
  }
  return calls;
}

/// A row's functions, as a server shows them to a model: a list as OpenAI has it, or of the
/// functions alone, or its text, as a Parquet file has it. None if they have another form; whether
/// its calls can be read is a question of its messages.
ToolSet read_tools(const Json& row) {
  Json list = row.value("tools", Json()), shown = Json::array();
  if (list.is_string()) {
    list = Json::parse(list.get<std::string>(), nullptr, /*allow_exceptions=*/false);
  }
  if (!list.is_array() || list.empty()) return {};
  ToolSet tools;
  for (const Json& one : list) {
    if (!one.is_object()) return {};
    const Json function = one.value("function", one);
    if (!function.is_object() || !function.value("name", Json()).is_string()) return {};
    tools.names.push_back(function["name"].get<std::string>());
    const Json description = function.value("description", Json(""));
    shown.push_back(shown_tool(tools.names.back(),
                               description.is_string() ? description.get<std::string>() : "",
                               function.value("parameters", Json())));
  }
  tools.json = to_text(shown);
  return tools;
}

/// The first fault of a row is the one that counts.
void note(CorpusConversation& conversation, Drop fault) {
  if (!conversation.fault) conversation.fault = fault;
}

void add_message(const Json& message, const char* list, CorpusConversation& conversation) {
  if (!message.is_object()) throw UserError("a message of \"{}\" is no object", list);
  const char* role_key = key_of(message, kRoleKeys);
  const char* text_key = key_of(message, kTextKeys);
  const Json role = role_key != nullptr ? message.at(role_key) : Json();
  if (!role.is_string()) return note(conversation, Drop::kNoText);
  const std::string name = role_named(role.get<std::string>());
  const auto calls =
      has(message, "tool_calls") ? read_calls(message["tool_calls"]) : std::vector<ToolCall>();
  const bool is_result = name == "tool";
  if ((is_tool_role(name) && !is_result) || has(message, "function_call") || !calls) {
    return note(conversation, Drop::kToolCalls);
  }
  if (!is_result && name != "system" && name != "user" && name != "assistant") {
    return note(conversation, Drop::kUnknownRole);
  }
  auto text = text_key != nullptr ? text_of(message.at(text_key)) : std::nullopt;
  if (!text && !calls->empty()) text = "";
  if (!text) return note(conversation, Drop::kNoText);
  conversation.messages.push_back({.role = name, .content = *text, .tool_calls = *calls});
}

void add_list(const Json& row, const char* key, CorpusConversation& conversation) {
  const Json& list = row.at(key);
  if (list.is_string()) {
    throw UserError("\"{}\" is a text, not a list of messages (JSON in JSON: parse it first)", key);
  }
  if (!list.is_array()) throw UserError("\"{}\" is no list", key);
  for (const Json& message : list) add_message(message, key, conversation);
}

/// A question or an answer: a text, or a list of messages.
void add_side(const Json& row, const char* key, const char* role,
              CorpusConversation& conversation) {
  if (row.at(key).is_array()) return add_list(row, key, conversation);
  conversation.messages.push_back({role, field_or<std::string>(row, key, "")});
}

void add_pair(const Json& row, const char* question, CorpusConversation& conversation) {
  if (const char* key = key_of(row, kPreferenceKeys)) {
    throw UserError("\"{}\" is one of two answers: name the one to learn \"completion\"", key);
  }
  add_side(row, question, "user", conversation);
  const char* context = key_of(row, kContextKeys);
  const bool has_context = question == std::string_view("instruction") && context != nullptr;
  if (has_context && row.at(question).is_string()) {
    std::string& text = conversation.messages.back().content;
    text = joined(text, "\n\n", field_or<std::string>(row, context, ""));
  }
  if (const char* answer = key_of(row, kAnswerKeys)) {
    add_side(row, answer, "assistant", conversation);
  }
}

/// Of an empty conversation.
bool is_empty_row(const Json& row) {
  return row.empty() || std::ranges::any_of(kMessageLists, [&](const char* list) {
           return row.contains(list);  // null
         });
}

void add_messages(const Json& row, CorpusConversation& conversation) {
  if (const char* list = key_of(row, kMessageLists)) {
    add_list(row, list, conversation);
  } else if (const char* question = key_of(row, kQuestionKeys)) {
    add_pair(row, question, conversation);
  } else if (!is_empty_row(row)) {
    throw UserError(kNoMessages);
  }
  std::vector<Message>& messages = conversation.messages;
  const char* system = key_of(row, kSystemKeys);
  if (system == nullptr || (!messages.empty() && messages.front().role == "system")) return;
  const auto text = field_or<std::string>(row, system, "");
  if (!is_blank(text)) messages.insert(messages.begin(), Message{"system", text});
}

/// Empty if the row has none.
std::string id_of(const Json& row) {
  const char* key = key_of(row, std::array{"conversation_id", "id"});
  if (key == nullptr) return "";
  const Json& id = row.at(key);
  return id.is_number_integer() ? id.dump() : field_or<std::string>(row, key, "");
}

}  // namespace

const char* prompt_key(const Json& row) {
  const char* key = key_of(row, kQuestionKeys);
  return key != nullptr ? key : kQuestionKeys.front();
}

CorpusConversation parse_conversation(const Json& row) {
  if (row.is_array()) {
    throw UserError("a list, not a JSON object: jq -c '.[]' makes a line of each of its rows");
  }
  if (!row.is_object()) throw UserError("not a JSON object");
  CorpusConversation conversation;
  conversation.id = id_of(row);
  conversation.model = field_or<std::string>(row, "model", "");
  conversation.language = field_or<std::string>(row, "language", "");
  conversation.redacted = field_or<bool>(row, "redacted", false);
  conversation.tools = read_tools(row);
  add_messages(row, conversation);
  for (const Json& moderation : field_or<Json>(row, "openai_moderation", Json::array())) {
    if (!moderation.is_object()) throw UserError("\"openai_moderation\" has the wrong type");
    conversation.flagged |= field_or<bool>(moderation, "flagged", false);
  }
  return conversation;
}

}  // namespace predgen::data

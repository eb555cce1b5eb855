#include "cli/input_rows.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "serve/api_error.h"
#include "serve/openai/chat_messages.h"
#include "serve/tool_request.h"

namespace predgen::cli {
namespace {

/// Runs work(), which reads a part of what a client of the server would send.
template <typename Work>
auto as_request(const std::string& where, const Work& work) {
  try {
    return work();
  } catch (const serve::ApiError& error) {
    throw UserError("{}: {}", where, error.what());
  }
}

/// Here, arguments may be an object, and a call needs no id.
Json with_ids(Json list) {
  for (Json& message : list) {
    if (!message.is_object()) continue;
    if (message.value("role", Json()) == "tool") message.emplace("tool_call_id", "");
    if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
    for (Json& call : message["tool_calls"]) {
      if (!call.is_object()) continue;
      call.emplace("id", "");
      const Json::json_pointer arguments("/function/arguments");
      if (call.contains(arguments) && call[arguments].is_object()) {
        call[arguments] = call[arguments].dump();
      }
    }
  }
  return list;
}

std::vector<Message> parse_messages(const Json& list, const std::string& where) {
  return as_request(where, [&] { return serve::read_messages(with_ids(list)); });
}

/// None if the messages have none, or ask for no calls.
void parse_tools(const Json& row, const std::string& where, InputRow& into) {
  as_request(where, [&] {
    Json asked = Json::object();
    for (const char* key : {"tools", "tool_choice"}) {
      if (row.contains(key)) asked[key] = row[key];
    }
    serve::RequestFields fields(asked.dump());
    const std::optional<ToolSet> tools = serve::read_tools(fields, serve::ToolShape::kNested);
    into.tool_choice = serve::read_tool_choice(fields).value_or(serve::ToolChoice());
    const bool may_call = into.tool_choice.kind != serve::ToolChoice::Kind::kNone;
    if (may_call) into.tools = tools.value_or(ToolSet());
    serve::check_tool_choice(into.tool_choice, into.tools, "tool_choice");
    return true;
  });
}

TokenIds parse_id_list(const Json& row, const std::string& where) {
  TokenIds ids;
  for (const Json& id : json_get<Json>(row, "token_ids", where)) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0) {
      throw UserError("{}: \"token_ids\" holds {}, not an id", where, id.dump());
    }
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

InputRow parse_row(const std::string& line, const std::string& where) {
  const Json row = parse_json(line, where);
  if (!row.is_object()) throw UserError("{}: must be a JSON object", where);
  int found = 0;
  for (const char* key : {"prompt", "messages", "token_ids"}) found += row.contains(key);
  if (found != 1) {
    throw UserError("{}: needs exactly one of \"prompt\", \"messages\", \"token_ids\"", where);
  }
  InputRow result;
  if (row.contains("prompt")) result.prompt = json_get<std::string>(row, "prompt", where);
  if (row.contains("messages")) {
    result.messages = parse_messages(row["messages"], where);
    parse_tools(row, where, result);
  }
  if (row.contains("token_ids")) result.token_ids = parse_id_list(row, where);
  return result;
}

}  // namespace

void RawPromptOptions::add_to(CLI::App& command) {
  command.add_flag("--parse-special", parse_special,
                   "special tokens named in raw text become their ids");
  command.add_flag("--add-special", add_special,
                   "puts the tokenizer's own special tokens around raw text, such as <s> in front");
}

std::vector<InputRow> read_input_rows(const std::filesystem::path& file) {
  std::istringstream lines(read_file(file));
  std::vector<InputRow> rows;
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    if (is_blank(line)) continue;
    rows.push_back(parse_row(line, fmt::format("{}: row {}", file.string(), number)));
    rows.back().number = number;
  }
  if (rows.empty()) throw UserError("{}: holds no rows", file.string());
  return rows;
}

InputRow read_messages(const std::filesystem::path& file) {
  const Json json = read_json(file);
  const std::string where = file.string();
  InputRow row;
  row.messages =
      parse_messages(json.is_object() ? json_get<Json>(json, "messages", where) : json, where);
  if (json.is_object()) parse_tools(json, where, row);
  return row;
}

TokenIds parse_token_ids(const std::string& text) {
  TokenIds ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at < end && *at == ' ') ++at;
    TokenId id = -1;
    const auto [next, error] = std::from_chars(at, end, id);
    const bool separated = next == end || *next == ',';
    if (error != std::errc() || id < 0 || !separated) {
      throw UserError("\"{}\" is not a list of token ids such as 1,2,3", text);
    }
    ids.push_back(id);
    if (next == end) return ids;
    at = next + 1;
  }
}

TokenIds input_ids(const InputRow& row, const Tokenizer* tokenizer,
                   const RawPromptOptions& options) {
  if (row.token_ids) return *row.token_ids;
  PREDGEN_CHECK(tokenizer, "text rows need a tokenizer");
  if (row.messages) {
    return tokenizer->render_chat(*row.messages, /*add_generation_prompt=*/true, row.tools);
  }
  PREDGEN_CHECK(row.prompt, "an empty input row");
  TokenIds ids = options.parse_special ? tokenizer->encode_special(*row.prompt)
                                       : tokenizer->encode(*row.prompt);
  if (options.add_special) {
    const auto& [before, after] = tokenizer->text_frame();
    ids.insert(ids.begin(), before.begin(), before.end());
    ids.insert(ids.end(), after.begin(), after.end());
  }
  return ids;
}

void save_chat(const std::string& file, const SavedChat& chat) {
  std::error_code absent;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, absent))) {
    throw UserError("{}: is there already; name a new file", file);
  }
  Json messages = Json::array();
  if (!chat.system_prompt.empty()) {
    messages.push_back({{"role", "system"}, {"content", chat.system_prompt}});
  }
  for (const Message& message : chat.history) {
    messages.push_back({{"role", message.role}, {"content", message.content}});
    if (!message.thought.empty()) messages.back()["reasoning_content"] = message.thought;
  }
  try {
    write_file(file, to_text(messages, 2) + "\n");
  } catch (const Error& error) {  // a full disk, too, must not end the chat
    throw UserError(std::string(error.what()));
  }
}

SavedChat load_chat(const std::string& file) {
  const InputRow row = read_messages(file);
  SavedChat chat;
  bool is_right = row.tools.empty();
  for (const Message& message : *row.messages) {
    if (message.role == "system" && chat.history.empty()) {
      chat.system_prompt += (chat.system_prompt.empty() ? "" : "\n\n") + message.content;
      continue;
    }
    const bool is_question = chat.history.size() % 2 == 0;
    is_right &= message.role == (is_question ? "user" : "assistant") && message.tool_calls.empty();
    chat.history.push_back(message);
  }
  if (!is_right || chat.history.size() % 2 == 1) {
    throw UserError(
        "{}: must hold questions and answers in turn, after system messages and without tools",
        file);
  }
  return chat;
}

}  // namespace predgen::cli

#include "cli/input_rows.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"

namespace predgen::cli {
namespace {

/// Empty if there is no `key`.
std::string optional_text(const Json& object, const char* key, const std::string& where) {
  return object.contains(key) ? json_get<std::string>(object, key, where) : "";
}

/// As OpenAI has them, but the arguments may be an object.
std::vector<ToolCall> parse_calls(const Json& message, const std::string& where) {
  std::vector<ToolCall> calls;
  if (!message.contains("tool_calls")) return calls;
  for (const Json& call : json_get<Json>(message, "tool_calls", where)) {
    const Json function = json_get<Json>(call, "function", where);
    const Json arguments = json_get<Json>(function, "arguments", where);
    calls.push_back(
        {.id = optional_text(call, "id", where),
         .name = json_get<std::string>(function, "name", where),
         .arguments = arguments.is_string() ? arguments.get<std::string>() : arguments.dump()});
  }
  return calls;
}

std::vector<Message> parse_messages(const Json& list, const std::string& where) {
  if (!list.is_array()) throw UserError("{}: messages must be a list of {{role, content}}", where);
  if (list.empty()) throw UserError("{}: the conversation is empty", where);
  std::vector<Message> messages;
  for (const Json& entry : list) {
    messages.push_back({.role = json_get<std::string>(entry, "role", where),
                        .content = json_get<std::string>(entry, "content", where),
                        .tool_calls = parse_calls(entry, where),
                        .tool_call_id = optional_text(entry, "tool_call_id", where)});
  }
  return messages;
}

ToolSet parse_tools(const Json& list, const std::string& where) {
  if (!list.is_array()) throw UserError("{}: \"tools\" must be a list of functions", where);
  ToolSet tools{.json = list.dump()};
  for (const Json& tool : list) {
    const Json function = json_get<Json>(tool, "function", where);
    tools.names.push_back(json_get<std::string>(function, "name", where));
  }
  return tools;
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
  if (row.contains("messages")) result.messages = parse_messages(row["messages"], where);
  if (row.contains("tools")) result.tools = parse_tools(row["tools"], where);
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

std::vector<Message> read_messages(const std::filesystem::path& file) {
  const Json json = read_json(file);
  const std::string where = file.string();
  return parse_messages(json.is_object() ? json_get<Json>(json, "messages", where) : json, where);
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

}  // namespace predgen::cli

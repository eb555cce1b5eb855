#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "serve/tool_request.h"
#include "text/tokenizer.h"

namespace CLI {
class App;
}

namespace predgen::cli {

/// One row of `--input FILE.jsonl`; exactly one of the optional members is set.
struct InputRow {
  int64_t number = 1;                            // line in the file, from 1
  std::optional<std::string> prompt;             // raw text
  std::optional<std::vector<Message>> messages;  // through the chat template
  std::optional<TokenIds> token_ids;
  ToolSet tools{};                  // with messages: what the answer may call
  serve::ToolChoice tool_choice{};  // whether it must
};

/// Options of every command that reads raw prompts.
struct RawPromptOptions {
  bool parse_special = false;  // special tokens named in the text become their ids
  bool add_special = false;    // tokens that the tokenizer puts around plain text, such as <s>
  /// --parse-special and --add-special.
  void add_to(CLI::App& command);
};

/// Reads JSONL, skipping blank lines; messages and tools as predgen serve takes them. UserError
/// with the row number for malformed rows, and for a file without rows.
std::vector<InputRow> read_input_rows(const std::filesystem::path& file);

/// `--messages FILE`: messages as predgen serve takes them, a JSON list, or an object with such a
/// list as "messages" and, if it has them, "tools".
InputRow read_messages(const std::filesystem::path& file);

/// `--token-ids 1,2,3`.
TokenIds parse_token_ids(const std::string& text);

/// The ids that the model reads: messages end with the generation prompt. `tokenizer` may be null
/// for rows of token ids.
TokenIds input_ids(const InputRow& row, const Tokenizer* tokenizer,
                   const RawPromptOptions& options);

/// A conversation in a file: a JSON list of messages, as `predgen generate --messages` reads it.
struct SavedChat {
  std::string system_prompt;     // empty: none
  std::vector<Message> history;  // questions and answers in turn
};

/// UserError if the file is there already, or cannot be written.
void save_chat(const std::string& file, const SavedChat& chat);

/// UserError unless, after system messages, questions and answers follow in turn, without calls.
SavedChat load_chat(const std::string& file);

}  // namespace predgen::cli

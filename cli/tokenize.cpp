#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/input_rows.h"
#include "core/error.h"
#include "core/json.h"
#include "text/utf8.h"

namespace predgen::cli {
namespace {

struct TokenizeOptions {
  std::string model, text, input, messages, chat_template;
  RawPromptOptions raw_prompt;
  bool json = false;
};

std::vector<InputRow> read_rows(const TokenizeOptions& options, const CLI::App& command) {
  if (command.count("--input")) return read_input_rows(options.input);
  if (!command.count("--text")) return {read_messages(options.messages)};
  InputRow row;
  row.prompt = options.text;
  return {row};
}

struct Result {
  TokenIds ids;
  std::string text;  // of the ids, without special tokens
};

std::vector<Result> tokenize_rows(const std::vector<InputRow>& rows, const Tokenizer& tokenizer,
                                  const std::string& file, const RawPromptOptions& options) {
  std::vector<Result> results;
  for (const InputRow& row : rows) {
    try {
      Result result{.ids = input_ids(row, &tokenizer, options), .text = {}};
      result.text = replace_ill_formed_utf8(tokenizer.decode(result.ids));
      results.push_back(std::move(result));
    } catch (const UserError& error) {
      if (file.empty()) throw;
      throw UserError("{}: row {}: {}", file, row.number, error.what());
    }
  }
  return results;
}

void print_json(const std::vector<Result>& results) {
  Json rows = Json::array();
  for (const Result& result : results) {
    rows.push_back({{"token_ids", result.ids}, {"text", result.text}});
  }
  fmt::print("{}\n", to_text({{"results", rows}}));
}

/// One line a token: its id and its text, quoted.
void print_table(const std::vector<Result>& results, const Tokenizer& tokenizer) {
  for (const Result& result : results) {
    for (const TokenId id : result.ids) {
      const std::string piece = tokenizer.decode_next(TokenSpan(&id, 1), true);
      fmt::print("{:>8}  {}\n", id, to_text(Json(replace_ill_formed_utf8(piece))));
    }
    fmt::print("{} tokens\n", result.ids.size());
  }
}

void run_tokenize(const TokenizeOptions& options, const CLI::App& command) {
  const std::vector<InputRow> rows = read_rows(options, command);
  const std::unique_ptr<Tokenizer> tokenizer =
      load_tokenizer(open_checkpoint(options.model)->read_tokenizer(options.chat_template));
  const std::vector<Result> results =
      tokenize_rows(rows, *tokenizer, options.input, options.raw_prompt);
  if (options.json) {
    print_json(results);
  } else {
    print_table(results, *tokenizer);
  }
}

}  // namespace

void add_tokenize(CLI::App& app, const std::stop_token&) {
  CLI::App* command = app.add_subcommand("tokenize", "Text or a conversation to token ids");
  const auto options = std::make_shared<TokenizeOptions>();
  command->add_option("--model", options->model, "Folder with tokenizer.json or tokenizer.model")
      ->required();
  auto* input = command->add_option_group("input", "One of these")->require_option(1);
  input->add_option("--text", options->text, "Text; no special tokens are added");
  input->add_option("--input", options->input,
                    "JSONL file; each row has one of \"prompt\", \"messages\", \"token_ids\"");
  input->add_option("--messages", options->messages,
                    "JSON list of messages as serve takes them; the generation prompt is included");
  add_chat_template(*command, options->chat_template);
  command->add_flag("--json", options->json, "Print one JSON document");
  options->raw_prompt.add_to(*command);
  command->footer(
      "Examples:\n"
      "  predgen tokenize --model checkpoints/demo --text \"Find me a table for two.\"\n"
      "  predgen tokenize --model checkpoints/demo --messages chat.json --json");
  command->callback([options, command] { run_tokenize(*options, *command); });
}

}  // namespace predgen::cli

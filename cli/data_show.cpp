#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/data_command.h"
#include "core/error.h"
#include "data/dataset_store.h"
#include "text/tokenizer.h"

namespace predgen::cli {
namespace {

struct ShowOptions {
  std::string store, tokenizer, chat_template;
  int64_t num_rows = 5;
  bool json = false;
};

/// Length statistics over the whole dataset.
struct Lengths {
  int64_t num_targets = 0, num_blocks = 0, num_states = 0;
  std::vector<int64_t> tokens;
};

Lengths measure(const data::DatasetReader& dataset) {
  Lengths lengths;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const data::Record record = dataset.read(i);
    lengths.tokens.push_back(static_cast<int64_t>(record.tokens.size()));
    lengths.num_targets += std::count(record.loss_mask.begin(), record.loss_mask.end(), 1);
    lengths.num_blocks += static_cast<int64_t>(record.blocks.size());
    for (const data::TrajectoryBlock& block : record.blocks) {
      lengths.num_states += static_cast<int64_t>(block.states.size());
    }
  }
  std::sort(lengths.tokens.begin(), lengths.tokens.end());
  return lengths;
}

Json summary(const data::DatasetReader& dataset) {
  const Lengths lengths = measure(dataset);
  int64_t total = 0;
  for (const int64_t count : lengths.tokens) total += count;
  const auto quantile = [&](double q) {
    return lengths.tokens[static_cast<size_t>(q * static_cast<double>(lengths.tokens.size() - 1))];
  };
  const Json& manifest = dataset.manifest();
  return {{"num_records", dataset.size()},
          {"num_shards", manifest.at("shards").size()},
          {"num_tokens", total},
          {"num_targets", lengths.num_targets},
          {"num_blocks", lengths.num_blocks},
          {"num_states", lengths.num_states},
          {"tokens_per_record",
           {{"min", lengths.tokens.front()},
            {"p50", quantile(0.5)},
            {"p90", quantile(0.9)},
            {"max", lengths.tokens.back()}}},
          {"recipe_hash", manifest.at("recipe_hash")},
          {"recipe", manifest.at("recipe")},
          {"counters", manifest.at("counters")}};
}

/// One token as readable text; partial UTF-8 characters and control characters as escapes.
std::string piece(const Tokenizer* tokenizer, TokenId token) {
  if (tokenizer == nullptr) return std::to_string(token);
  const std::string text = tokenizer->decode_next(TokenSpan(&token, 1), /*keep_special=*/true);
  const std::string quoted = to_text(Json(text));
  return quoted.substr(1, quoted.size() - 2);
}

Json row_json(const Tokenizer* tokenizer, const data::Record& record, int64_t index) {
  Json row = {{"index", index},
              {"conversation_id", record.conversation_id},
              {"round", record.round},
              {"prompt_length", record.prompt_length},
              {"token_ids", record.tokens},
              {"loss_mask", record.loss_mask}};
  if (tokenizer != nullptr) {
    Json pieces = Json::array();
    for (const TokenId token : record.tokens) pieces.push_back(piece(tokenizer, token));
    row["pieces"] = std::move(pieces);
  }
  Json blocks = Json::array();
  for (const data::TrajectoryBlock& block : record.blocks) blocks.push_back(block.states);
  if (!blocks.empty()) row["blocks"] = std::move(blocks);
  return row;
}

/// The label of position t is the token at t+1 if that one is a target.
void print_row(const Tokenizer* tokenizer, const data::Record& record, int64_t index) {
  const bool has_answer = std::ssize(record.tokens) > record.prompt_length;
  std::printf("\nrecord %ld: conversation %s, round %ld, %zu tokens, %s\n", index,
              record.conversation_id.c_str(), record.round, record.tokens.size(),
              has_answer ? fmt::format("answer from {}", record.prompt_length).c_str()
                         : "a prompt without an answer");
  std::printf("  %6s %8s %-20s %8s %4s\n", "place", "token", "text", "label", "mask");
  for (size_t t = 0; t < record.tokens.size(); ++t) {
    const bool labelled = t + 1 < record.tokens.size() && record.loss_mask[t + 1] == 1;
    std::printf("  %6zu %8ld %-20s %8s %4d\n", t, record.tokens[t],
                piece(tokenizer, record.tokens[t]).c_str(),
                labelled ? std::to_string(record.tokens[t + 1]).c_str() : "-", record.loss_mask[t]);
  }
  for (size_t b = 0; b < record.blocks.size(); ++b) {
    std::printf("  block %zu\n", b);
    for (const TokenIds& state : record.blocks[b].states) {
      std::string text;
      for (const TokenId token : state) text += piece(tokenizer, token) + "|";
      std::printf("    %s\n", text.c_str());
    }
  }
}

void run_show(const ShowOptions& options) {
  const auto dataset = data::open_dataset(options.store);
  const auto tokenizer =
      options.tokenizer.empty()
          ? nullptr
          : load_tokenizer(
                open_checkpoint(options.tokenizer)->read_tokenizer(options.chat_template));
  if (tokenizer) {
    const Json& recipe = dataset->manifest().at("recipe");
    if (recipe.contains("tokenizer") && recipe.at("tokenizer") != tokenizer->content_hash()) {
      throw UserError("--tokenizer {}: the dataset was built with another tokenizer",
                      options.tokenizer);
    }
  }
  Json document = summary(*dataset);
  const int64_t num_rows = std::min(options.num_rows, dataset->size());
  if (options.json) {
    Json rows = Json::array();
    for (int64_t i = 0; i < num_rows; ++i) {
      rows.push_back(row_json(tokenizer.get(), dataset->read(i), i));
    }
    document["rows"] = std::move(rows);
    std::printf("%s\n", to_text(document).c_str());
    return;
  }
  std::printf("%s\n", options.store.c_str());
  print_counters(document, 2);
  for (int64_t i = 0; i < num_rows; ++i) print_row(tokenizer.get(), dataset->read(i), i);
}

}  // namespace

void add_data_show(CLI::App& data) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = data.add_subcommand("show", "What a dataset holds");
  command->add_option("store", options->store, "dataset folder")->required();
  command->add_option("--tokenizer", options->tokenizer, "model folder: shows text beside ids");
  add_chat_template(*command, options->chat_template);
  command->add_option("-n,--n", options->num_rows, "rows to show")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options->json, "one JSON document on stdout");
  command->footer("Example:\n  predgen data show runs/quickstart/dataset --tokenizer smollm2 -n 1");
  command->callback([options] { run_show(*options); });
}

}  // namespace predgen::cli

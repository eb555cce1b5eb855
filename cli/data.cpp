#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/launch_ranks.h"
#include "cli/model_setup.h"
#include "cli/setting_flags.h"
#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "data/dataset_builder.h"
#include "data/dataset_store.h"
#include "data/trajectory_builder.h"
#include "model/weights/adapter.h"
#include "model/weights/weight_files.h"
#include "text/tokenizer.h"
#include "train/train_config.h"

namespace predgen::cli {

void print_dataset(const std::filesystem::path& output, const Json& manifest, bool as_json) {
  if (as_json) {
    const Json summary = {{"output", output.string()},
                          {"num_records", manifest.at("num_records")},
                          {"recipe_hash", manifest.at("recipe_hash")},
                          {"counters", manifest.at("counters")}};
    std::printf("%s\n", to_text(summary).c_str());
    return;
  }
  std::printf("%s: %ld records\n", output.c_str(), manifest.at("num_records").get<int64_t>());
  print_counters(manifest.at("counters"), 2);
}

void print_counters(const Json& counters, int indent) {
  for (const auto& [name, value] : counters.items()) {
    if (value.is_object()) {
      std::printf("%*s%s\n", indent, "", name.c_str());
      print_counters(value, indent + 2);
    } else {
      const std::string text = to_text(value);
      std::printf("%*s%-*s %10s\n", indent, "", 30 - indent, name.c_str(), text.c_str());
    }
  }
}

void add_data(CLI::App& app, const std::stop_token& stop) {
  CLI::App* data = app.add_subcommand("data", "Build and look at training datasets");
  data->require_subcommand(1);
  add_data_build(*data, stop);
  add_data_trajectories(*data, stop);
  add_data_show(*data);
}

namespace {

struct BuildOptions {
  ConfigOptions config;
  data::BuildConfig flags;  // skip_bad_rows of it
  bool json = false;
};

/// From a file of configs/data, or the part `build` of a training's.
data::BuildConfig read_build_config(const ConfigOptions& options) {
  ConfigReader reader = ConfigReader::load(options.file, options.overrides);
  if (reader.has("build")) {
    return train::TrainConfig::load(options.file, options.overrides).build.value();
  }
  auto config = read_settings<data::BuildConfig>(reader);
  reader.finish();
  return config;
}

void run_build(const BuildOptions& options, const std::stop_token& stop) {
  data::BuildConfig config = read_build_config(options.config);
  config.skip_bad_rows |= options.flags.skip_bad_rows;
  const auto tokenizer =
      load_tokenizer(open_checkpoint(config.tokenizer)->read_tokenizer(config.chat_template));
  const data::BuildResult result = data::build_dataset(config, *tokenizer, stop);
  const Json& manifest = result.manifest;
  if (options.json) {
    const Json summary = {
        {"output", config.output.string()},          {"already_complete", result.already_complete},
        {"num_records", manifest.at("num_records")}, {"num_tokens", manifest.at("num_tokens")},
        {"recipe_hash", manifest.at("recipe_hash")}, {"counters", manifest.at("counters")}};
    std::printf("%s\n", to_text(summary).c_str());
    return;
  }
  std::printf("%s%s: %ld records, %ld tokens\n", config.output.c_str(),
              result.already_complete ? " (was complete already)" : "",
              manifest.at("num_records").get<int64_t>(), manifest.at("num_tokens").get<int64_t>());
  print_counters(manifest.at("counters"), 2);
}

}  // namespace

void add_data_build(CLI::App& data, const std::stop_token& stop) {
  auto options = std::make_shared<BuildOptions>();
  CLI::App* command =
      data.add_subcommand("build", "Chats or prompts (Parquet, JSONL) to training examples (HDF5)");
  options->config.add_to(*command);
  add_flags(*command, only(settings_of_examples(options->flags), {"skip_bad_rows"}));
  command->add_flag("--json", options->json, "one JSON document on stdout");
  command->footer(
      "Examples:\n  predgen data build --config configs/data/quickstart.yaml seed=1 "
      "output=runs/one\n  predgen data build --config configs/data/own.yaml "
      "sources=[chats.jsonl] tokenizer=smollm2");
  command->callback([options, stop] { run_build(*options, stop); });
}

namespace {

struct TrajectoryOptions {
  ConfigOptions config;
  int nproc = 0;
  bool json = false;
};

/// Runs as many ranks of this program as asked for; returns the exit code.
int start_ranks(int count, const data::TrajectoryBuild& build, const std::stop_token& stop) {
  if (build.num_pieces() < count) {
    spdlog::warn("{} ranks for {} pieces: with a smaller records_per_piece all would work", count,
                 build.num_pieces());
  }
  return launch_ranks(count, RankFailure::kOthersGoOn, stop);
}

void run_trajectories(const TrajectoryOptions& options, const std::stop_token& stop) {
  const train::RankPlace place = train::rank_place();
  if (options.nproc > 0 && place.world_size > 1) {
    throw UserError("--nproc {}, but a launcher has started {} ranks already: drop --nproc",
                    options.nproc, place.world_size);
  }
  ConfigReader reader = ConfigReader::load(options.config.file, options.config.overrides);
  const auto config = read_settings<data::TrajectoryConfig>(reader);
  reader.finish();
  if (place.world_size > 1) choose_gpu(place, config.device);
  if (place.rank > 0 && spdlog::get_level() < spdlog::level::warn) configure_log("warn");
  const c10::InferenceMode inference;
  const auto checkpoint = open_checkpoint(config.model);
  const auto tokenizer = load_tokenizer(checkpoint->read_tokenizer(config.chat_template));
  // Reports errors in them before a folder is made.
  checkpoint->read_config();
  checkpoint->open_tensors();
  if (!config.adapter.empty()) AdapterFolder{config.adapter};
  std::vector<std::filesystem::path> files = checkpoint->weight_files();
  if (!config.adapter.empty())
    std::ranges::copy(weight_files(config.adapter), std::back_inserter(files));
  data::TrajectoryBuild build(config, hash_weights(files), *tokenizer);
  bool prints = place.world_size == 1;  // else the rank that finishes the dataset
  if (!build.is_finished()) {
    if (options.nproc > 1) throw CLI::RuntimeError(start_ranks(options.nproc, build, stop));
    ModelOptions model;
    model.model = config.model.string();
    model.adapter = config.adapter.string();
    model.device = config.device;
    model.dtype = config.dtype;
    model.threads = config.threads;
    Engine engine(set_up_model(*checkpoint, model), {.pass_tokens = config.batch_tokens});
    prints |= build.run(engine, {.rank = place.rank, .num_ranks = place.world_size}, stop);
  }
  if (prints)
    print_dataset(config.output, data::open_dataset(config.output)->manifest(), options.json);
}

}  // namespace

void add_data_trajectories(CLI::App& data, const std::stop_token& stop) {
  auto options = std::make_shared<TrajectoryOptions>();
  CLI::App* command = data.add_subcommand(
      "trajectories", "Dataset and model to Jacobi trajectories (HDF5); continues after a kill");
  options->config.add_to(*command);
  command->add_option("--nproc", options->nproc, "ranks to start on this machine")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--json", options->json, "one JSON document on stdout");
  command->footer(
      "Several ranks: --nproc here, or torchrun, srun or mpirun, whose variables are read. They\n"
      "share the pieces of the dataset through the output folder, and give what one rank gives.\n"
      "The same command again, with any number of ranks, goes on after a kill.\n\n"
      "Examples:\n"
      "  predgen data trajectories --config configs/data/quickstart_trajectories.yaml\n"
      "  predgen data trajectories --config configs/data/lmsys_trajectories.yaml --nproc 4\n"
      "  srun --ntasks-per-node 4 predgen data trajectories --config my.yaml");
  command->callback([options, stop] { run_trajectories(*options, stop); });
}

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
  if (!record.branches.empty()) row["branches"] = record.branches;
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
    if (std::ranges::count(record.branches, static_cast<int64_t>(t)) > 0) {
      std::printf("  a question that stands alone\n");
    }
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

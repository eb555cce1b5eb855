#include <cstdio>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/data_command.h"
#include "cli/setting_flags.h"
#include "data/dataset_builder.h"
#include "train/train_config.h"

namespace predgen::cli {
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

}  // namespace predgen::cli

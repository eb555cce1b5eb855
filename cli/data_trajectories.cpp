#include <c10/core/InferenceMode.h>

#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/data_command.h"
#include "cli/model_setup.h"
#include "data/trajectory_builder.h"

namespace predgen {
namespace {

struct TrajectoryOptions {
  ConfigOptions config;
  bool json = false;
};

void run_trajectories(const TrajectoryOptions& options) {
  ConfigReader reader = ConfigReader::load(options.config.file, options.config.overrides);
  const TrajectoryConfig config = TrajectoryConfig::read(reader);
  reader.finish();
  const c10::InferenceMode inference;
  const auto tokenizer = load_tokenizer(config.model, config.chat_template);
  ModelOptions model_options;
  model_options.model = config.model.string();
  model_options.adapter = config.adapter.string();
  model_options.device = config.device;
  model_options.dtype = config.dtype;
  model_options.threads = static_cast<int>(config.threads);
  // Batches of short blocks and long prompts: passes may be larger than in a conversation.
  Engine engine(set_up_model(model_options), {.pass_tokens = 4096});
  const Json manifest =
      build_trajectories(config, engine, hash_model(config.model, config.adapter), *tokenizer);
  if (options.json) {
    const Json summary = {{"output", config.output.string()},
                          {"num_records", manifest.at("num_records")},
                          {"recipe_hash", manifest.at("recipe_hash")},
                          {"counters", manifest.at("counters")}};
    std::printf("%s\n", summary.dump().c_str());
    return;
  }
  std::printf("%s: %ld records\n", config.output.c_str(),
              manifest.at("num_records").get<int64_t>());
  print_counters(manifest.at("counters"), 2);
}

}  // namespace

void add_data_trajectories(CLI::App& data) {
  auto options = std::make_shared<TrajectoryOptions>();
  CLI::App* command = data.add_subcommand(
      "trajectories", "Dataset and model to Jacobi trajectories (HDF5); continues after a kill");
  options->config.add_to(*command);
  command->add_flag("--json", options->json, "one JSON document on stdout");
  command->footer(
      "Example:\n  predgen data trajectories --config configs/data/quickstart_trajectories.yaml");
  command->callback([options] { run_trajectories(*options); });
}

}  // namespace predgen

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cli/command.h"
#include "cli/data_command.h"
#include "cli/launch_ranks.h"
#include "cli/model_setup.h"
#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "data/trajectory_builder.h"
#include "model/weights/adapter.h"
#include "model/weights/weights_hash.h"

namespace predgen::cli {
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

}  // namespace predgen::cli

#include "train/train.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <memory>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/launch_ranks.h"
#include "core/error.h"
#include "core/log.h"
#include "train/distributed/communicator.h"
#include "train/distributed/process_communicator.h"

namespace predgen::cli {
namespace {

struct TrainOptions {
  ConfigOptions config;
  std::string resume = "none";
  int nproc = 0;
  train::ConnectOptions connect;
  int64_t timeout = 300;
};

std::string quoted(const std::filesystem::path& path) {
  std::string text = path.string();
  const bool is_plain = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+=:,~").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Prints what to do with the result.
void say_next_commands(const train::TrainConfig& config) {
  if (config.tokenizer.empty() || !open_checkpoint(config.tokenizer)->has_tokenizer())
    return;  // the result has none, and cannot chat
  const std::string result = quoted(config.output / "final");
  const std::string jacobi = config.objective.is_consistency() ? " --decoder jacobi" : "";
  if (config.mode == train::TrainMode::kFull) {
    spdlog::info("talk to it: predgen chat --model {}{}", result, jacobi);
    return;
  }
  const std::string model = quoted(config.model);
  spdlog::info("talk to it: predgen chat --model {} --adapter {}{}", model, result, jacobi);
  if (config.objective.kind == train::ObjectiveKind::kMtp) return;  // nothing to merge
  spdlog::info("merge it: predgen export --model {} --adapter {} --output {}", model, result,
               quoted(config.output / "merged"));
}

void run_rank(const TrainOptions& options, const train::RankPlace& place,
              const std::stop_token& stop) {
  const train::TrainConfig config =
      train::TrainConfig::load(options.config.file, options.config.overrides);
  allow_time_to_stop(std::chrono::minutes(10));  // a step, and its checkpoint
  if (place.world_size == 1) {
    train::SingleProcessCommunicator communicator;
    train::train(config, options.resume, communicator, stop);
    return say_next_commands(config);
  }
  if (place.rank > 0 && spdlog::get_level() < spdlog::level::warn) configure_log("warn");
  std::signal(SIGPIPE, SIG_IGN);
  std::optional<train::ProcessCommunicator> communicator;
  try {
    choose_gpu(place, config.device);
    communicator.emplace(place, options.connect);
    train::train(config, options.resume, *communicator, stop);
    if (place.rank == 0) say_next_commands(config);
  } catch (const Interrupted&) {
    if (!may_say_why()) throw CLI::RuntimeError(130);
    throw;
  } catch (const std::exception& error) {
    const bool says_why = may_say_why();  // before the others hear of it
    if (communicator) communicator->report_failure(error.what());
    if (says_why) throw;
    throw CLI::RuntimeError(dynamic_cast<const UserError*>(&error) != nullptr ? 2 : 1);
  }
}

}  // namespace

void add_train(CLI::App& app, const std::stop_token& stop) {
  CLI::App& command = *app.add_subcommand("train", "Train a LoRA adapter, or every weight");
  command.footer(
      "Several ranks: --nproc here, or torchrun, srun or mpirun, whose variables are read. They\n"
      "take the steps of one rank, each with its share of the micro-batches, and --resume may\n"
      "go on with another number of them.\n\n"
      "Examples:\n"
      "  predgen train --config configs/train/quickstart.yaml\n"
      "  predgen train --config configs/train/demo.yaml learning_rate=1e-3 --resume auto\n"
      "  predgen train --config configs/train/lmsys_cllm.yaml --nproc 4\n"
      "  torchrun --no-python --nproc-per-node 4 predgen train --config my.yaml\n"
      "Ctrl-C finishes the step and writes a checkpoint; --resume auto goes on from there.");
  const auto options = std::make_shared<TrainOptions>();
  options->config.add_to(command);
  command.add_option("--resume", options->resume, "auto, none or the path of a step-... folder")
      ->capture_default_str();
  command.add_option("--nproc", options->nproc, "ranks to start on this machine")
      ->check(CLI::Range(1, 1024));
  command
      .add_option(
          "--backend", options->connect.backend,
          "how GPUs of several ranks exchange tensors: nccl, gloo, or auto (nccl if it is there)")
      ->capture_default_str();
  command
      .add_option("--timeout", options->timeout,
                  "seconds after which a rank that others wait for has failed")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.callback([options, stop] {
    options->connect.timeout = std::chrono::seconds(options->timeout);
    const train::RankPlace place = train::rank_place();
    if (options->nproc > 0) {
      if (place.world_size > 1) {
        throw UserError("--nproc {}, but a launcher has started {} ranks already: drop --nproc",
                        options->nproc, place.world_size);
      }
      train::TrainConfig::load(options->config.file, options->config.overrides);  // complain once
      if (options->nproc > 1)
        throw CLI::RuntimeError(launch_ranks(options->nproc, RankFailure::kEndsAll, stop));
    }
    run_rank(*options, place, stop);
  });
}

}  // namespace predgen::cli

#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>

#include "cli/command.h"
#include "core/error.h"
#include "model/device_memory.h"
#include "model/gpu/cuda_module.h"
#include "model/load_options.h"
#include "train/plan/memory_plan.h"
#include "train/plan/plan_sizes.h"

namespace predgen::cli {
namespace {

struct PlanOptions {
  ConfigOptions config;
  int nproc = 1;
  int64_t tokens = 0;
  double memory_gib = 0.0, tokens_per_second = 0.0;
};

/// Null if there is none yet.
std::unique_ptr<data::DatasetReader> find_dataset(const train::TrainConfig& train) {
  return std::filesystem::exists(train.dataset) ? data::open_datasets(train.datasets()) : nullptr;
}

/// Only a GPU's own memory is unknown if there is no GPU.
train::PlanCase where_it_runs(const train::TrainConfig& train, int nproc,
                              std::optional<int64_t>& memory) {
  const bool wants_cuda = train.device.starts_with("cuda");
  if (wants_cuda && !has_cuda()) {
    if (!memory) throw UserError("device: {}, but there is no GPU here: say its --memory", "cuda");
    return {.world_size = nproc, .is_cuda = true};
  }
  const at::Device device = parse_device(train.device);
  const train::PlanCase found = train::case_of(device, nproc);
  // Ranks of this machine share the memory of its CPU.
  if (!memory) memory = memory_size(device) / (device.is_cpu() ? nproc : 1);
  return found;
}

void print_row(const std::string& what, int64_t bytes) {
  std::printf("  %-34s %10s\n", what.c_str(), train::to_gib(bytes).c_str());
}

void print_memory(const train::MemoryPlan& plan, bool is_cuda) {
  std::printf("Memory of each rank%s\n", is_cuda ? "'s GPU" : ", resident");
  for (const train::MemoryPlan::Term& term : plan.held()) {
    if (term.bytes > 0) print_row(term.what, term.bytes);
  }
  print_row("activations kept for the backward", plan.kept_bytes());
  std::printf("  and on top, one at a time:\n");
  if (plan.loading().bytes > 0) print_row("  " + plan.loading().what, plan.loading().bytes);
  for (const train::MemoryPlan::Term& term : plan.step_moments())
    print_row("  " + term.what, term.bytes);
  if (plan.lost_bytes() > 0) print_row("free between tensors", plan.lost_bytes());
  print_row("at the worst moment", plan.peak_bytes());
  if (plan.host_bytes() > 0) print_row("frozen layers in the host's memory", plan.host_bytes());
}

void print_time(const train::TrainConfig& train, const data::DatasetReader& dataset,
                double tokens_per_second) {
  double tokens = 0;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    tokens += static_cast<double>(dataset.size_of(i).tokens);
  }
  const double epochs = train.epochs > 0
                            ? train.epochs
                            : static_cast<double>(train.max_steps * train.global_batch) /
                                  static_cast<double>(dataset.size());
  std::printf("Time: %.3g million tokens of records (%.2f epochs), %.1f hours\n",
              epochs * tokens / 1e6, epochs, epochs * tokens / tokens_per_second / 3600);
}

void run_plan(const PlanOptions& options) {
  train::TrainConfig train =
      train::TrainConfig::load(options.config.file, options.config.overrides);
  std::optional<int64_t> memory;
  if (options.memory_gib > 0) memory = static_cast<int64_t>(options.memory_gib * (1 << 30));
  train::PlanCase plan_case = where_it_runs(train, options.nproc, memory);
  const ModelConfig model = train.model_config();
  const std::unique_ptr<data::DatasetReader> dataset = find_dataset(train);
  if (dataset && dataset->size() > 0) {
    train::set_longest_row(*dataset, *train::make_objective(train.objective), plan_case);
  }
  if (options.tokens > 0) {
    plan_case.row_tokens = plan_case.taught_tokens = plan_case.noisy_tokens = options.tokens;
    plan_case.has_segments = train.objective.kind != train::ObjectiveKind::kAutoregressive;
  }
  if (plan_case.row_tokens == 0) {
    throw UserError("{}: no dataset there yet: say how long its longest row will be, --tokens 2048",
                    train.dataset.string());
  }
  train::check_recomputed(model, train);
  if (train.num_recomputed == train::kAutoLayers) {
    train.num_recomputed =
        train::layers_to_recompute(model, train, plan_case, train::usable(*memory));
    std::printf("recompute: auto runs %ld of %ld layers twice\n",
                static_cast<long>(train.num_recomputed), static_cast<long>(model.num_layers()));
  }
  const train::MemoryPlan plan(model, train, plan_case);
  std::printf("%ld rows of up to %ld tokens at a time, %ld values trained\n",
              static_cast<long>(train.batch_size), static_cast<long>(plan_case.row_tokens),
              static_cast<long>(plan.trained_values()));
  print_memory(plan, plan_case.is_cuda);
  std::printf("Disk: checkpoints %s (%ld of them), the result %s\n",
              train::to_gib(train.keep_last * plan.checkpoint_bytes()).c_str(),
              static_cast<long>(train.keep_last), train::to_gib(plan.final_bytes()).c_str());
  if (options.tokens_per_second > 0) {
    if (!dataset) throw UserError("--tokens-per-second needs the dataset, to count its tokens");
    print_time(train, *dataset, options.tokens_per_second);
  }
  const bool fits = plan.peak_bytes() <= train::usable(*memory);
  std::printf("%s %s\n", fits ? "Fits into" : "Does not fit into", train::to_gib(*memory).c_str());
  if (fits) return;
  std::printf("To change, each on top of those before:\n");
  for (const train::MemoryKnob& knob :
       train::memory_knobs(model, train, plan_case, train::usable(*memory))) {
    print_row(knob.setting, knob.peak_bytes);
  }
}

}  // namespace

void add_plan(CLI::App& app, const std::stop_token&) {
  CLI::App& command =
      *app.add_subcommand("plan", "The memory that a training will take, without running it");
  command.footer(
      "Counts from sizes alone: the model's config.json and the lengths of the records, or "
      "--tokens\n"
      "before there are any. With device=cuda it plans for a GPU that is elsewhere.\n\n"
      "Examples:\n"
      "  predgen plan --config configs/train/lmsys_cllm.yaml --nproc 4\n"
      "  predgen plan --config my.yaml --tokens 2304 --memory 24 device=cuda base.weights=nf4");
  const auto options = std::make_shared<PlanOptions>();
  options->config.add_to(command);
  command.add_option("--nproc", options->nproc, "ranks")->check(CLI::Range(1, 1024));
  command.add_option("--tokens", options->tokens, "of the longest row; default: the dataset's")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  command.add_option("--memory", options->memory_gib, "GiB; default: that of the device here")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--tokens-per-second", options->tokens_per_second,
                  "of all ranks together, as a run's log says them: the time is printed too")
      ->check(CLI::PositiveNumber);
  command.callback([options] { run_plan(*options); });
}

}  // namespace predgen::cli

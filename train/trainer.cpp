#include "train/trainer.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "data/dataset_store.h"
#include "model/device_memory.h"
#include "train/check_data.h"
#include "train/distributed/communicator.h"
#include "train/objectives/gradients.h"
#include "train/objectives/objective.h"
#include "train/optim/precision.h"
#include "train/train_config.h"
#include "train/watch/collapse_watch.h"

namespace predgen::train {
namespace {

/// Mean of every term of the objective over the first config.held_out_records records (0: all),
/// split among the ranks. A collective. Draws a progress bar on rank 0.
LossTerms held_out_losses(Transformer& model, const Objective& objective,
                          const data::DatasetReader& records, const TrainConfig& config,
                          Communicator& communicator) {
  LossTerms sums = counts_of(objective.pack_held_out({}));  // a rank may have no records
  LossTerms counts = sums;
  const int64_t size = config.held_out_records > 0
                           ? std::min(config.held_out_records, records.size())
                           : records.size();
  std::optional<Progress> progress;
  if (communicator.is_main()) progress.emplace("held-out", "records", size);
  const int64_t step = config.batch_size * communicator.world_size();
  // A rank takes part in every round, even without records: it may hold part of the layers.
  for (int64_t round = 0; round < size; round += step) {
    const int64_t begin = round + config.batch_size * communicator.rank();
    Batch batch;
    for (int64_t i = begin; i < std::min(begin + config.batch_size, size); ++i) {
      check_ids(batch.emplace_back(records.read(i)), model.config().vocab_size);
    }
    const ComputeScope scope(config.compute, model.device());
    const PackedBatch packed = objective.pack_held_out(batch);
    add(counts_of(packed), counts);
    add(evaluate_terms(model, packed), sums);
    if (progress) progress->update(std::min(round + step, size));
  }
  all_reduce(sums, communicator);
  all_reduce(counts, communicator);
  return means_of(sums, counts);
}

std::string note(const std::map<std::string, double>& losses, double tokens_per_second) {
  std::string text;
  for (const auto& [name, loss] : losses) text += fmt::format("{} {:.4f}  ", name, loss);
  return text + fmt::format("{:.0f} tokens/s", tokens_per_second);
}

/// The peak memory over all ranks, of the process and of its GPU; a collective.
Trainer::Scalars peak_memory_of_ranks(const at::Device& device, Communicator& communicator) {
  const PeakMemory own = peak_memory(device);
  const at::Tensor all_N2 = at::empty({communicator.world_size(), 2}, at::kDouble);
  communicator.all_gather(
      at::tensor({static_cast<double>(own.process), static_cast<double>(own.device.value_or(0))},
                 at::kDouble)
          .unsqueeze(0),
      all_N2);
  const at::Tensor gib_2 = all_N2.amax(0) / static_cast<double>(int64_t{1} << 30);
  Trainer::Scalars scalars{{"memory/process_gib", gib_2[0].item<double>()}};
  if (own.device) scalars["memory/gpu_gib"] = gib_2[1].item<double>();
  return scalars;
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, const TrainParts& parts, const TrainState& state,
                 Reports reports, std::stop_token stop)
    : config_(config),
      parts_(parts),
      state_(state),
      reports_(std::move(reports)),
      stop_(std::move(stop)) {}

int64_t Trainer::total_steps() const {
  if (config_.max_steps > 0) return config_.max_steps;
  const auto batches_per_step = static_cast<double>(config_.num_micro_batches());
  const double batches = config_.epochs * static_cast<double>(parts_.batches.batches_per_epoch());
  return std::max<int64_t>(1, static_cast<int64_t>(batches / batches_per_step));
}

void Trainer::run() {
  const int64_t total = total_steps();
  const bool is_main = parts_.communicator.is_main();
  begin_alike();
  TrainStep step(config_, parts_, total);
  step.try_longest_batch();
  if (parts_.watch != nullptr && parts_.watch->is_first()) report_watch();
  const double seconds_before = state_.seconds;
  const SystemClock clock(stop_);
  double logged_at = 0.0, tokens_since = 0.0;
  std::atomic<int64_t> under_way = state_.step + 1;
  const std::stop_callback says_so(stop_, [&] {
    if (!is_main) return;
    spdlog::info(
        "stopping: step {} is finished and a checkpoint written first; Ctrl-C ends at once, "
        "without them",
        under_way.load());
  });
  std::optional<Progress> progress;
  if (is_main) progress.emplace("train", "steps", total).update(state_.step);
  while (state_.step < total) {
    under_way = state_.step + 1;
    const TrainStep::Result result = step.run(state_);
    state_.seconds = seconds_before + clock.now().count();
    tokens_since += result.num_tokens;
    const double tokens_per_second = tokens_since / std::max(clock.now().count() - logged_at, 1e-9);
    if (progress) progress->update(state_.step, note(result.losses, tokens_per_second));
    const bool last = state_.step == total;
    if (state_.step % config_.log_every == 0 || last || state_.step == 1 || result.skipped) {
      report_step(result, tokens_per_second);
      logged_at = clock.now().count();
      tokens_since = 0;
    }
    // If one rank wants to stop, all stop: a rank that continued alone would wait for the others.
    const bool wants_stop = stop_.stop_requested() || state_.step == config_.stop_at_step;
    const bool stop = sum_over_ranks(wants_stop ? 1.0 : 0.0, parts_.communicator) > 0;
    const double trained_until = clock.now().count();
    if (parts_.held_out && (last || is_due(config_.eval_every))) report_held_out();
    if (parts_.watch != nullptr && (last || is_due(config_.watch.every))) report_watch();
    if (stop || last || is_due(config_.save_every)) save();
    logged_at += clock.now().count() - trained_until;
    if (stop && !last) {
      if (is_main) {
        spdlog::info("stopped after step {}; --resume auto goes on from its checkpoint",
                     state_.step);
      }
      throw Interrupted();
    }
  }
}

void Trainer::begin_alike() {
  Communicator& communicator = parts_.communicator;
  communicator.barrier();  // rank 0 may have found nothing to resume
  std::vector<at::Tensor> weights;
  for (const Parameter& parameter : parts_.optimizer.parameters()) {
    weights.push_back(parameter.tensor.detach());
  }
  communicator.broadcast(weights, 0);

  const std::map<std::string, at::Tensor> moments = parts_.optimizer.state();
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : moments) tensors.push_back(tensor);
  communicator.broadcast(tensors, 0);
  parts_.optimizer.load_state(moments);

  const std::vector<double>& own_norms = state_.norms.values();
  const at::Tensor counts =
      at::tensor({state_.step, state_.samples, state_.skipped_steps, state_.outlier_steps,
                  static_cast<int64_t>(own_norms.size())},
                 at::kLong);
  const at::Tensor seconds = at::tensor({state_.seconds}, at::kDouble);
  const at::Tensor norms = at::zeros({static_cast<int64_t>(GradientNorms::kMost)}, at::kDouble);
  std::ranges::copy(own_norms, norms.mutable_data_ptr<double>());
  communicator.broadcast({counts, seconds, norms}, 0);
  const double* first_norm = norms.const_data_ptr<double>();
  state_ = {.step = counts[0].item<int64_t>(),
            .samples = counts[1].item<int64_t>(),
            .skipped_steps = counts[2].item<int64_t>(),
            .outlier_steps = counts[3].item<int64_t>(),
            .norms = GradientNorms(std::vector(first_norm, first_norm + counts[4].item<int64_t>())),
            .seconds = seconds.item<double>()};
}

bool Trainer::is_due(int64_t every) const { return every > 0 && state_.step % every == 0; }

void Trainer::report_step(const TrainStep::Result& result, double tokens_per_second) const {
  Scalars scalars = peak_memory_of_ranks(parts_.model.device(), parts_.communicator);
  if (!parts_.communicator.is_main()) return;
  scalars["train/learning_rate"] = result.learning_rate;
  scalars["train/gradient_norm"] = result.gradient_norm;
  scalars["train/tokens_per_second"] = tokens_per_second;
  scalars["train/epoch"] =
      static_cast<double>(state_.samples) / static_cast<double>(parts_.dataset.size());
  scalars["train/skipped_steps"] = static_cast<double>(state_.skipped_steps);
  scalars["train/outlier_steps"] = static_cast<double>(state_.outlier_steps);
  scalars["train/seconds"] = state_.seconds;
  for (const auto& [name, loss] : result.losses) scalars["train/" + name] = loss;
  reports_.scalars(state_.step, scalars);
}

void Trainer::report_held_out() const {
  const std::map<std::string, double> losses = held_out_losses(
      parts_.model, parts_.objective, *parts_.held_out, config_, parts_.communicator);
  if (!parts_.communicator.is_main()) return;
  Scalars scalars;
  for (const auto& [name, loss] : losses) {
    scalars["held_out/" + name] = loss;
    spdlog::info("step {}: held-out {} {:.4f} nats/token", state_.step, name, loss);
  }
  reports_.scalars(state_.step, scalars);
  reports_.milestone();
}

void Trainer::report_watch() const {
  const Scalars scalars = parts_.watch->run(state_.step);
  if (!parts_.communicator.is_main()) return;
  spdlog::info(
      "step {}: answers to the watched prompts: {:.0f} % of their text is as before training, "
      "{:.0f} % of them repeat themselves, {:.2f} tokens in each pass of Jacobi decoding",
      state_.step, 100 * scalars.at("watch/start_agreement"), 100 * scalars.at("watch/repetition"),
      scalars.at("watch/tokens_per_pass"));
  reports_.scalars(state_.step, scalars);
  reports_.milestone();
}

void Trainer::save() const {
  if (parts_.communicator.is_main()) {
    parts_.checkpoints.save(state_, parts_.weights, parts_.optimizer);
    reports_.milestone();
  }
  parts_.communicator.barrier();
}

}  // namespace predgen::train

#include "train/train_step.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "core/random.h"
#include "train/optim/clip_gradients.h"
#include "train/optim/lr_schedule.h"
#include "train/optim/precision.h"

namespace predgen {
namespace {

constexpr int64_t kMostBadStepsInARow = 5;

}  // namespace

TrainStep::TrainStep(const TrainConfig& config, const TrainParts& parts, int64_t total_steps)
    : config_(config), parts_(parts), total_steps_(total_steps) {}

void TrainStep::try_longest_batch() {
  const Batch batch = read(parts_.batches.longest_batch());
  size_t longest = 0;
  for (const Record& record : batch) longest = std::max(longest, record.tokens.size());
  if (parts_.communicator.is_main()) {
    spdlog::info("trying the longest batch first: {} records of up to {} tokens", batch.size(),
                 longest);
  }
  {
    const ComputeScope scope(config_.compute, parts_.model.device());
    parts_.model.set_training(true);  // dropout takes memory, too
    parts_.objective.accumulate_gradients(parts_.model, batch,
                                          counts_of(parts_.objective.count(batch, 0)), 0);
    parts_.model.set_training(false);
  }
  parts_.optimizer.zero_gradients();
}

TrainStep::Result TrainStep::run(TrainState& state) {
  ++state.step;
  parts_.communicator.set_step(state.step);
  const uint64_t step_seed =
      Random(static_cast<uint64_t>(config_.seed), "step", static_cast<uint64_t>(state.step)).next();
  const std::vector<Batch> batches = next_batches(state);

  // The denominators of the whole step first: then a sum over micro-batches and ranks is the mean.
  LossTerms counts = parts_.objective.count({}, step_seed);  // a rank may have no batch
  double num_tokens = 0.0;
  for (const Batch& batch : batches) {
    add(parts_.objective.count(batch, step_seed), counts);
    for (const Record& record : batch) num_tokens += static_cast<double>(record.tokens.size());
  }
  all_reduce(counts, parts_.communicator);

  Result result;
  result.num_tokens = sum_over_ranks(num_tokens, parts_.communicator);
  result.losses = means_of(accumulate(batches, counts, step_seed), counts_of(counts));
  update_weights(state, result);
  return result;
}

std::vector<Batch> TrainStep::next_batches(TrainState& state) const {
  const int64_t size = parts_.batches.batch_size();
  const int64_t world = parts_.communicator.world_size();
  const int64_t first = state.samples / size;
  std::vector<Batch> batches;
  const int64_t count = config_.num_micro_batches();
  for (int64_t i = parts_.communicator.rank(); i < count; i += world) {
    batches.push_back(read(parts_.batches.batch(first + i)));
  }
  state.samples += size * count;
  return batches;
}

Batch TrainStep::read(const std::vector<int64_t>& indices) const {
  Batch batch;
  for (const int64_t index : indices) batch.push_back(parts_.dataset.read(index));
  return batch;
}

LossTerms TrainStep::accumulate(const std::vector<Batch>& batches, const LossTerms& counts,
                                uint64_t step_seed) {
  const auto world = static_cast<size_t>(parts_.communicator.world_size());
  const auto rank = static_cast<size_t>(parts_.communicator.rank());
  parts_.optimizer.zero_gradients();
  parts_.model.set_training(true);
  LossTerms sums;
  for (const auto& [name, count] : counts) sums[name] = {};
  for (size_t i = 0; i < batches.size(); ++i) {
    const ComputeScope scope(config_.compute, parts_.model.device());
    // Dropout draws from LibTorch's own generator.
    at::manual_seed(Random(step_seed, "dropout", i * world + rank).next());
    add(parts_.objective.accumulate_gradients(parts_.model, batches[i], counts_of(counts),
                                              step_seed),
        sums);
  }
  parts_.model.set_training(false);
  all_reduce(sums, parts_.communicator);
  parts_.communicator.all_reduce({parts_.optimizer.flat_gradient()});
  return sums;
}

void TrainStep::update_weights(TrainState& state, Result& result) {
  if (state.step == 1) parts_.weights.check_first_gradients();
  result.gradient_norm = clip_gradients(parts_.optimizer.gradients(), config_.max_grad_norm);
  result.learning_rate = rate_of(state.step);
  const double norm = result.gradient_norm;
  const bool outlier = state.norms.is_outlier(norm, config_.outlier_factor);
  if (std::isfinite(norm) && !outlier) {
    parts_.optimizer.step(result.learning_rate);
    state.norms.add(norm);
    num_bad_in_a_row_ = 0;
    return;
  }
  result.skipped = true;
  ++state.skipped_steps;
  if (std::isfinite(norm)) ++state.outlier_steps;
  const std::string why = std::isfinite(norm)
                              ? fmt::format("has norm {:.4g}, {:.0f} times the usual {:.4g}", norm,
                                            norm / *state.norms.median(), *state.norms.median())
                              : "is not finite";
  if (parts_.communicator.is_main()) {
    spdlog::warn("step {}: the gradient {}; weights unchanged", state.step, why);
  }
  if (++num_bad_in_a_row_ == kMostBadStepsInARow) {
    throw Error(
        "{} steps in a row were skipped, the gradient of the last one {}; the last good weights "
        "are "
        "in the checkpoints: lower learning_rate, {}",
        num_bad_in_a_row_, why,
        std::isfinite(norm) ? "or raise outlier_factor" : "or use compute: fp32");
  }
}

double TrainStep::rate_of(int64_t step) const {
  const int64_t warmup_steps =
      config_.warmup_ratio > 0
          ? static_cast<int64_t>(config_.warmup_ratio * static_cast<double>(total_steps_))
          : config_.warmup_steps;
  return learning_rate(
      {config_.schedule, config_.learning_rate, config_.min_ratio, warmup_steps, total_steps_},
      step);
}

}  // namespace predgen

#include "train/train_step.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/log.h"
#include "core/random.h"
#include "train/check_data.h"
#include "train/optim/adamw.h"
#include "train/optim/precision.h"

namespace predgen::train {
namespace {
constexpr int64_t kBatchesPerWindow = 50;
}

BatchSampler::BatchSampler(std::vector<int64_t> lengths, int64_t batch_size, uint64_t seed)
    : lengths_(std::move(lengths)),
      batch_size_(std::min<int64_t>(batch_size, static_cast<int64_t>(lengths_.size()))),
      seed_(seed) {
  PREDGEN_CHECK(!lengths_.empty() && batch_size >= 1, "no records or no batch size");
}

int64_t BatchSampler::batches_per_epoch() const {
  return static_cast<int64_t>(lengths_.size()) / batch_size_;
}

std::vector<int64_t> BatchSampler::batch(int64_t number) {
  const int64_t epoch = number / batches_per_epoch();
  if (epoch != epoch_) shuffle_epoch(epoch);
  return batches_[static_cast<size_t>(number % batches_per_epoch())];
}

void BatchSampler::shuffle_epoch(int64_t epoch) {
  std::vector<int64_t> order(lengths_.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(seed_, "epoch", static_cast<uint64_t>(epoch));
  random.shuffle(order);
  order.resize(static_cast<size_t>(batches_per_epoch() * batch_size_));

  batches_.clear();
  const auto window = static_cast<size_t>(kBatchesPerWindow * batch_size_);
  for (size_t begin = 0; begin < order.size(); begin += window) {
    const size_t end = std::min(begin + window, order.size());
    std::stable_sort(order.begin() + static_cast<int64_t>(begin),
                     order.begin() + static_cast<int64_t>(end), [&](int64_t a, int64_t b) {
                       return lengths_[static_cast<size_t>(a)] < lengths_[static_cast<size_t>(b)];
                     });
  }
  for (size_t begin = 0; begin < order.size(); begin += static_cast<size_t>(batch_size_)) {
    const auto first = order.begin() + static_cast<int64_t>(begin);
    batches_.emplace_back(first, first + batch_size_);
  }
  random.shuffle(batches_);
  epoch_ = epoch;
}

std::vector<int64_t> BatchSampler::longest_batch() const {
  std::vector<int64_t> order(lengths_.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + batch_size_, order.end(),
                    [&](int64_t a, int64_t b) {
                      return lengths_[static_cast<size_t>(a)] > lengths_[static_cast<size_t>(b)];
                    });
  order.resize(static_cast<size_t>(batch_size_));
  return order;
}

namespace {

/// The global 2-norm of the gradients, float32 []; does not wait for the device.
at::Tensor gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  return at::stack(at::_foreach_norm(gradients)).norm();
}

/// Scales gradients of norm `norm` in place to a norm of at most `max_norm`; 0: no clipping.
void clip_gradients(const std::vector<at::Tensor>& gradients, double norm, double max_norm) {
  const at::NoGradGuard no_grad;
  if (max_norm > 0 && norm > max_norm) at::_foreach_mul_(gradients, max_norm / norm);
}

constexpr int64_t kMostBadStepsInARow = 5;

}  // namespace

TrainStep::TrainStep(const TrainConfig& config, const TrainParts& parts, int64_t total_steps)
    : config_(config), parts_(parts), total_steps_(total_steps) {}

void TrainStep::try_longest_batch() {
  const Batch batch = read(parts_.batches.longest_batch());
  const int64_t world = parts_.communicator.world_size();
  const int64_t most = (config_.num_micro_batches() + world - 1) / world;  // per rank, at a time
  const std::vector<PackedBatch> packed(
      static_cast<size_t>(parts_.model.has_layer_store() ? most : 1),
      parts_.objective.pack(batch, 0));
  size_t longest = 0;
  for (const TokenIds& row : packed.front().rows) longest = std::max(longest, row.size());
  if (parts_.communicator.is_main()) {
    spdlog::info("trying the longest batch first: {} records, rows of up to {} tokens",
                 batch.size(), longest);
  }
  accumulate(packed, counts_of(packed.front()), 0);
  freed_memory_.set_bound();
  parts_.optimizer.zero_gradients();
}

TrainStep::Result TrainStep::run(TrainState& state) {
  ++state.step;
  parts_.communicator.set_step(state.step);
  const uint64_t step_seed =
      Random(static_cast<uint64_t>(config_.seed), "step", static_cast<uint64_t>(state.step)).next();
  double num_tokens = 0.0;
  const std::vector<PackedBatch> batches = next_batches(state, step_seed, num_tokens);

  // The whole step's denominators first, so that sums over micro-batches and ranks are the mean.
  LossTerms counts = counts_of(parts_.objective.pack({}, step_seed));  // a rank may have no batch
  for (const PackedBatch& batch : batches) add(counts_of(batch), counts);
  all_reduce(counts, parts_.communicator);

  Result result;
  result.num_tokens = sum_over_ranks(num_tokens, parts_.communicator);
  const at::Tensor sums = stack(accumulate(batches, counts, step_seed));
  parts_.communicator.all_reduce({parts_.optimizer.flat_gradient(), sums});
  const at::Tensor norm = gradient_norm(parts_.optimizer.gradients());
  // All that the host needs of a step, in one transfer.
  const at::Tensor known = at::cat({sums, norm.to(at::kDouble).view(1)}).cpu();
  const double* next = known.const_data_ptr<double>();
  LossTerms losses = counts;
  for (auto& [name, sum] : losses) sum = *next++;
  result.losses = means_of(losses, counts);
  result.gradient_norm = *next;
  update_weights(state, result);
  freed_memory_.trim();
  return result;
}

std::vector<PackedBatch> TrainStep::next_batches(TrainState& state, uint64_t step_seed,
                                                 double& num_tokens) const {
  const int64_t size = parts_.batches.batch_size();
  const int64_t world = parts_.communicator.world_size();
  const int64_t first = state.samples / size;
  std::vector<PackedBatch> batches;
  const int64_t count = config_.num_micro_batches();
  for (int64_t i = parts_.communicator.rank(); i < count; i += world) {
    const Batch batch = read(parts_.batches.batch(first + i));
    batches.push_back(parts_.objective.pack(batch, step_seed));
    for (const data::Record& record : batch)
      num_tokens += static_cast<double>(record.tokens.size());
  }
  state.samples += size * count;
  return batches;
}

Batch TrainStep::read(const std::vector<int64_t>& indices) const {
  Batch batch;
  for (const int64_t index : indices) {
    check_ids(batch.emplace_back(parts_.dataset.read(index)), parts_.model.config().vocab_size);
  }
  return batch;
}

TermSums TrainStep::accumulate(const std::vector<PackedBatch>& batches, const LossTerms& counts,
                               uint64_t step_seed) {
  const auto world = static_cast<uint64_t>(parts_.communicator.world_size());
  const auto rank = static_cast<uint64_t>(parts_.communicator.rank());
  parts_.optimizer.zero_gradients();
  parts_.model.set_training(true);
  // Layers fetched on use are fetched once for all micro-batches, and by all ranks, even those
  // without one; otherwise only one micro-batch takes memory at a time.
  const size_t together = parts_.model.has_layer_store() ? std::max<size_t>(1, batches.size()) : 1;
  TermSums sums;
  for (size_t begin = 0; begin == 0 || begin < batches.size(); begin += together) {
    const auto group =
        std::span(batches).subspan(begin, std::min(together, batches.size() - begin));
    std::vector<uint64_t> dropout_seeds;
    for (size_t i = begin; i < begin + group.size(); ++i) {
      dropout_seeds.push_back(Random(step_seed, "dropout", i * world + rank).next());
    }
    const ComputeScope scope(config_.compute, parts_.model.device());
    for (const auto& [name, sum] :
         accumulate_gradients(parts_.model, group, counts, dropout_seeds)) {
      sums[name] = sums.contains(name) ? sums[name] + sum : sum;
    }
  }
  parts_.model.set_training(false);
  return sums;
}

void TrainStep::update_weights(TrainState& state, Result& result) {
  if (state.step == 1) parts_.weights.check_first_gradients();
  result.learning_rate = rate_of(state.step);
  const double norm = result.gradient_norm;
  const bool outlier = state.norms.is_outlier(norm, config_.outlier_factor);
  if (std::isfinite(norm) && !outlier) {
    clip_gradients(parts_.optimizer.gradients(), norm, config_.max_grad_norm);
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

}  // namespace predgen::train

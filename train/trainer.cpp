#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/clock.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/random.h"
#include "train/optim/precision.h"

namespace predgen {
namespace {

constexpr int64_t kMostBadStepsInARow = 5;

std::map<std::string, double> sums_to_means(const LossTerms& terms,
                                            const std::map<std::string, double>& denominators) {
  std::map<std::string, double> means;
  for (const auto& [name, term] : terms) {
    if (denominators.at(name) > 0) means[name] = term.sum / denominators.at(name);
  }
  return means;
}

std::map<std::string, double> counts_of(const LossTerms& terms) {
  std::map<std::string, double> counts;
  for (const auto& [name, term] : terms) counts[name] = term.count;
  return counts;
}

void add(const LossTerms& more, LossTerms& terms) {
  for (const auto& [name, term] : more) {
    terms[name].sum += term.sum;
    terms[name].count += term.count;
  }
}

std::string note(const std::map<std::string, double>& losses, double tokens_per_second) {
  std::string text;
  for (const auto& [name, loss] : losses) text += fmt::format("{} {:.4f}  ", name, loss);
  return text + fmt::format("{:.0f} tokens/s", tokens_per_second);
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, const Parts& parts, const TrainState& state,
                 Report report)
    : config_(config), parts_(parts), state_(state), report_(std::move(report)) {}

int64_t Trainer::total_steps() const {
  if (config_.max_steps > 0) return config_.max_steps;
  const double batches_per_step =
      static_cast<double>(config_.gradient_accumulation * parts_.communicator.world_size());
  const double batches = config_.epochs * static_cast<double>(parts_.batches.batches_per_epoch());
  return std::max<int64_t>(1, static_cast<int64_t>(batches / batches_per_step));
}

void Trainer::run() {
  const int64_t total = total_steps();
  const bool is_main = parts_.communicator.is_main();
  try_longest_batch();
  const double seconds_before = state_.seconds;
  const SystemClock clock;
  double logged_at = 0.0;
  int64_t tokens_since = 0;
  Progress progress("train", "steps", total);
  progress.update(state_.step);
  while (state_.step < total) {
    const StepResult result = step();
    state_.seconds = seconds_before + clock.now().count();
    tokens_since += result.num_tokens;
    const double elapsed = clock.now().count() - logged_at;
    const double tokens_per_second = static_cast<double>(tokens_since) / std::max(elapsed, 1e-9);
    progress.update(state_.step, note(result.losses, tokens_per_second));
    if (is_main && (state_.step % config_.log_every == 0 || state_.step == total ||
                    state_.step == 1 || result.skipped)) {
      std::map<std::string, double> scalars{
          {"train/learning_rate", result.learning_rate},
          {"train/gradient_norm", result.gradient_norm},
          {"train/tokens_per_second", tokens_per_second},
          {"train/epoch",
           static_cast<double>(state_.samples) / static_cast<double>(parts_.dataset.size())},
          {"train/skipped_steps", static_cast<double>(state_.skipped_steps)},
          {"train/seconds", state_.seconds}};
      for (const auto& [name, loss] : result.losses) scalars["train/" + name] = loss;
      report_(state_.step, scalars);
      logged_at = clock.now().count();
      tokens_since = 0;
    }
    const bool stop = interrupted() || state_.step == config_.stop_at_step;
    const bool last = state_.step == total;
    if (is_main && parts_.held_out &&
        (last || (config_.eval_every > 0 && state_.step % config_.eval_every == 0))) {
      report_held_out();
    }
    if (stop || last || state_.step % config_.save_every == 0) save();
    if (stop && !last) {
      spdlog::info("stopped behind step {}; --resume auto goes on from its checkpoint",
                   state_.step);
      throw Interrupted();
    }
  }
  progress.finish();
}

Trainer::StepResult Trainer::step() {
  ++state_.step;
  const auto step_index = static_cast<uint64_t>(state_.step);
  const auto seed = static_cast<uint64_t>(config_.seed);
  const uint64_t step_seed = Random(seed, "step", step_index).next();
  const std::vector<Batch> batches = next_batches();

  // The denominators of the whole step first: then a sum over micro-batches and ranks is the mean.
  LossTerms counts;
  StepResult result;
  for (const Batch& batch : batches) {
    add(parts_.objective.count(batch, step_seed), counts);
    for (const Record& record : batch) {
      result.num_tokens += static_cast<int64_t>(record.tokens.size());
    }
  }
  reduce(counts);
  result.num_tokens *= parts_.communicator.world_size();
  const std::map<std::string, double> denominators = counts_of(counts);

  parts_.optimizer.zero_gradients();
  parts_.model.set_training(true);
  LossTerms sums;
  for (size_t i = 0; i < batches.size(); ++i) {
    const ComputeScope scope(config_.compute, parts_.model.device());
    // Dropout draws from LibTorch's own generator: keyed by step, micro-batch and rank.
    at::manual_seed(
        Random(step_seed, "dropout", i * 4096 + static_cast<uint64_t>(parts_.communicator.rank()))
            .next());
    add(parts_.objective.accumulate_gradients(parts_.model, batches[i], denominators, step_seed),
        sums);
  }
  parts_.model.set_training(false);
  reduce(sums);
  parts_.communicator.all_reduce_sum(parts_.optimizer.gradients());
  if (state_.step == 1) parts_.weights.check_first_gradients();

  result.losses = sums_to_means(sums, denominators);
  result.gradient_norm = clip_gradients();
  result.learning_rate = learning_rate(
      {config_.schedule, config_.learning_rate, config_.min_ratio,
       config_.warmup_ratio > 0
           ? static_cast<int64_t>(config_.warmup_ratio * static_cast<double>(total_steps()))
           : config_.warmup_steps,
       total_steps()},
      state_.step);
  if (std::isfinite(result.gradient_norm)) {
    parts_.optimizer.step(result.learning_rate);
    num_bad_in_a_row_ = 0;
  } else {
    result.skipped = true;
    ++state_.skipped_steps;
    spdlog::warn("step {}: the gradient is not finite; weights unchanged", state_.step);
    if (++num_bad_in_a_row_ == kMostBadStepsInARow) {
      throw Error(
          "{} steps in a row with a gradient that is not finite; the last good weights are "
          "in the checkpoints: lower learning_rate or use compute: fp32",
          num_bad_in_a_row_);
    }
  }
  return result;
}

std::vector<Batch> Trainer::next_batches() {
  // Micro-batches are dealt out in turn, so the data of a step does not depend on the ranks'
  // number.
  const int64_t size = parts_.batches.batch_size();
  const int64_t world = parts_.communicator.world_size();
  const int64_t first = state_.samples / size;
  std::vector<Batch> batches;
  for (int64_t i = 0; i < config_.gradient_accumulation; ++i) {
    batches.push_back(read(parts_.batches.batch(first + i * world + parts_.communicator.rank())));
  }
  state_.samples += size * world * config_.gradient_accumulation;
  return batches;
}

Batch Trainer::read(const std::vector<int64_t>& indices) const {
  Batch batch;
  for (const int64_t index : indices) batch.push_back(parts_.dataset.read(index));
  return batch;
}

void Trainer::reduce(LossTerms& terms) const {
  std::vector<double> flat;
  for (const auto& [name, term] : terms) flat.insert(flat.end(), {term.sum, term.count});
  const at::Tensor tensor = at::tensor(flat, at::kDouble);
  parts_.communicator.all_reduce_sum({tensor});
  const double* value = tensor.const_data_ptr<double>();
  for (auto& [name, term] : terms) {
    term.sum = *value++;
    term.count = *value++;
  }
}

double Trainer::clip_gradients() {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = parts_.optimizer.gradients();
  const double norm = at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  if (config_.max_grad_norm > 0 && norm > config_.max_grad_norm && std::isfinite(norm)) {
    at::_foreach_mul_(gradients, config_.max_grad_norm / norm);
  }
  return norm;
}

void Trainer::try_longest_batch() {
  const Batch batch = read(parts_.batches.longest_batch());
  size_t longest = 0;
  for (const Record& record : batch) longest = std::max(longest, record.tokens.size());
  spdlog::info("trying the longest batch first: {} records of up to {} tokens", batch.size(),
               longest);
  {
    const ComputeScope scope(config_.compute, parts_.model.device());
    parts_.objective.accumulate_gradients(parts_.model, batch,
                                          counts_of(parts_.objective.count(batch, 0)), 0);
  }
  parts_.optimizer.zero_gradients();
}

std::map<std::string, double> Trainer::evaluate() const {
  LossTerms terms;
  const int64_t size = config_.held_out_records > 0
                           ? std::min(config_.held_out_records, parts_.held_out->size())
                           : parts_.held_out->size();
  Progress progress("held-out", "records", size);
  for (int64_t begin = 0; begin < size; begin += config_.batch_size) {
    Batch batch;
    for (int64_t i = begin; i < std::min(begin + config_.batch_size, size); ++i) {
      batch.push_back(parts_.held_out->read(i));
    }
    const ComputeScope scope(config_.compute, parts_.model.device());
    add(parts_.objective.evaluate(parts_.model, batch), terms);
    progress.update(begin + static_cast<int64_t>(batch.size()));
  }
  return sums_to_means(terms, counts_of(terms));
}

void Trainer::report_held_out() {
  std::map<std::string, double> scalars;
  for (const auto& [name, loss] : evaluate()) {
    scalars["held_out/" + name] = loss;
    spdlog::info("step {}: held-out {} {:.4f} nats/token", state_.step, name, loss);
  }
  report_(state_.step, scalars);
}

void Trainer::save() {
  if (parts_.communicator.is_main()) {
    parts_.checkpoints.save(state_, parts_.weights, parts_.optimizer);
  }
  parts_.communicator.barrier();
}

}  // namespace predgen

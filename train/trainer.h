#pragma once

#include <functional>
#include <stop_token>

#include "train/train_step.h"

namespace predgen {

/// The training loop of one rank. Knows neither the loss nor where the data came from.
class Trainer {
 public:
  /// What the loop tells the outside: scalars by name ("train/ar", "held_out/ar", ...). Called on
  /// rank 0 alone.
  using Report = std::function<void(int64_t step, const std::map<std::string, double>& scalars)>;

  /// Borrows everything. `state`: where to begin; rank 0's counts.
  Trainer(const TrainConfig& config, const TrainParts& parts, const TrainState& state,
          Report report, std::stop_token stop);

  /// Gives every rank the weights and moments of rank 0, then steps until the last one. Throws
  /// Interrupted on all ranks, after the same step and its checkpoint, when one of them was asked
  /// to stop, and at config.stop_at_step; Error after five steps in a row whose gradient is not
  /// finite. The ranks share the held-out records. Only rank 0 reports and writes checkpoints.
  void run();

  int64_t total_steps() const;

 private:
  void begin_alike();
  void report_step(const TrainStep::Result& result, double tokens_per_second) const;
  void report_held_out() const;
  void save() const;

  const TrainConfig& config_;
  const TrainParts parts_;
  TrainState state_;
  const Report report_;
  const std::stop_token stop_;
};

}  // namespace predgen

#pragma once

#include <functional>
#include <stop_token>

#include "train/train_step.h"

namespace predgen::train {

/// The training loop of one rank. Knows neither the loss nor where the data came from.
class Trainer {
 public:
  using Scalars = std::map<std::string, double>;
  /// Callbacks of the loop. Called on rank 0 only.
  struct Reports {
    /// By name: "train/ar", "held_out/ar", "memory/process_gib", "watch/repetition", ...
    std::function<void(int64_t step, const Scalars& scalars)> scalars;
    /// Called after held-out losses, the watch or a checkpoint, once all else is reported.
    std::function<void()> milestone;
  };

  /// Borrows everything. `state`: where to begin; rank 0's is used.
  Trainer(const TrainConfig& config, const TrainParts& parts, const TrainState& state,
          Reports reports, std::stop_token stop);

  /// Gives every rank the weights and moments of rank 0, then steps until the last one. Throws
  /// Interrupted on all ranks, after the same step and its checkpoint, if one of them was asked to
  /// stop, and at config.stop_at_step; Error after five steps in a row whose gradient is not finite
  /// or an outlier. The ranks share the held-out records and the watch. Only rank 0 reports and
  /// writes checkpoints.
  void run();

  int64_t total_steps() const;

 private:
  void begin_alike();
  bool is_due(int64_t every) const;
  // The next three are collectives.
  void report_step(const TrainStep::Result& result, double tokens_per_second) const;
  void report_held_out() const;
  void report_watch() const;
  void save() const;

  const TrainConfig& config_;
  const TrainParts parts_;
  TrainState state_;
  const Reports reports_;
  const std::stop_token stop_;
};

}  // namespace predgen::train

#pragma once

#include <functional>

#include "data/dataset_store.h"
#include "train/batch_sampler.h"
#include "train/checkpoint_store.h"
#include "train/distributed/communicator.h"
#include "train/objectives/objective.h"
#include "train/train_config.h"
#include "train/trained_weights.h"

namespace predgen {

/// The training loop. Knows neither the loss nor where the data came from.
class Trainer {
 public:
  struct Parts {
    Transformer& model;
    TrainedWeights& weights;
    Objective& objective;
    AdamW& optimizer;
    BatchSampler& batches;
    const DatasetReader& dataset;
    const DatasetReader* held_out;  // may be null
    const CheckpointStore& checkpoints;
    Communicator& communicator;
  };
  /// What the loop tells the outside: scalars by name ("train/ar", "held_out/ar", ...).
  using Report = std::function<void(int64_t step, const std::map<std::string, double>& scalars)>;

  /// Borrows everything. `state`: where to begin.
  Trainer(const TrainConfig& config, const Parts& parts, const TrainState& state, Report report);

  /// Steps until the last one. Throws Interrupted, after writing a checkpoint, on Ctrl-C or at
  /// config.stop_at_step; Error after five steps in a row whose gradient is not finite.
  void run();

  int64_t total_steps() const;
  /// Mean of every term over the held-out records.
  std::map<std::string, double> evaluate() const;

 private:
  struct StepResult {
    std::map<std::string, double> losses;  // mean of every term
    double gradient_norm = 0.0;
    double learning_rate = 0.0;
    int64_t num_tokens = 0;  // of all ranks
    bool skipped = false;
  };
  StepResult step();
  /// Reads this rank's micro-batches and moves on.
  std::vector<Batch> next_batches();
  Batch read(const std::vector<int64_t>& indices) const;
  void reduce(LossTerms& terms) const;
  double clip_gradients();
  void try_longest_batch();
  void report_held_out();
  void save();

  const TrainConfig& config_;
  Parts parts_;
  TrainState state_;
  const Report report_;
  int64_t num_bad_in_a_row_ = 0;
};

}  // namespace predgen

#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset_store.h"
#include "train/checkpoint_store.h"
#include "train/distributed/communicator.h"
#include "train/freed_memory.h"
#include "train/objectives/gradients.h"
#include "train/objectives/objective.h"
#include "train/train_config.h"
#include "train/trained_weights.h"

namespace predgen::train {

/// Assigns records to micro-batches. The order depends only on (seed, epoch): micro-batch number k
/// is the same for every rank and after every resume. Records of a batch have similar lengths, so
/// little is padding: an epoch's random order is cut into windows, each window sorted by length and
/// cut into batches, and the batches shuffled. Each epoch leaves out up to batch_size - 1 records,
/// different ones each time.
class BatchSampler {
 public:
  /// `lengths`: the cost of each record, in tokens; not empty. batch_size >= 1.
  BatchSampler(std::vector<int64_t> lengths, int64_t batch_size, uint64_t seed);

  /// The requested size, or the number of records if that is smaller.
  int64_t batch_size() const { return batch_size_; }
  int64_t batches_per_epoch() const;
  /// Indices of the records of micro-batch `number` >= 0, counted over all epochs.
  std::vector<int64_t> batch(int64_t number);
  /// The batch_size longest records, to test whether they fit into memory.
  std::vector<int64_t> longest_batch() const;

 private:
  void shuffle_epoch(int64_t epoch);

  const std::vector<int64_t> lengths_;
  const int64_t batch_size_;
  const uint64_t seed_;
  int64_t epoch_ = -1;  // the one in batches_
  std::vector<std::vector<int64_t>> batches_;
};

class CollapseWatch;

/// What a rank trains with. Borrowed.
struct TrainParts {
  Transformer& model;
  TrainedWeights& weights;
  Objective& objective;
  AdamW& optimizer;
  BatchSampler& batches;
  const data::DatasetReader& dataset;
  const data::DatasetReader* held_out;  // may be null
  const CheckpointStore& checkpoints;
  Communicator& communicator;
  CollapseWatch* watch = nullptr;  // may be null
};

/// One optimizer step over all ranks together; the result is the same for any number of ranks. Its
/// micro-batches are numbered, and rank r of R takes those with number % R == r. Random draws
/// depend on the step, the record and the number of the micro-batch, never on the rank.
class TrainStep {
 public:
  struct Result {
    LossTerms losses;  // mean of every term
    double gradient_norm = 0.0;
    double learning_rate = 0.0;
    double num_tokens = 0.0;  // of all ranks
    bool skipped = false;     // the gradient was unusable: weights unchanged
  };

  /// Borrows everything. `total_steps`: where the learning-rate schedule ends.
  TrainStep(const TrainConfig& config, const TrainParts& parts, int64_t total_steps);

  /// Computes the longest batch's gradients and discards them: fails early if memory is too small.
  void try_longest_batch();
  /// Takes the step after state.step and counts it there. Error after five steps in a row whose
  /// gradient is not finite or an outlier, and if a weight gets no gradient in the first step.
  Result run(TrainState& state);

 private:
  /// Packs this rank's micro-batches, adds their tokens to `num_tokens`, and advances `state`.
  std::vector<PackedBatch> next_batches(TrainState& state, uint64_t step_seed,
                                        double& num_tokens) const;
  Batch read(const std::vector<int64_t>& indices) const;
  /// Adds this rank's share of the gradients; returns its sums of the terms.
  TermSums accumulate(const std::vector<PackedBatch>& batches, const LossTerms& counts,
                      uint64_t step_seed);
  void update_weights(TrainState& state, Result& result);
  double rate_of(int64_t step) const;

  const TrainConfig& config_;
  const TrainParts parts_;
  const int64_t total_steps_;
  FreedMemory freed_memory_;
  int64_t num_bad_in_a_row_ = 0;
};

}  // namespace predgen::train

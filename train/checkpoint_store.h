#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset_store.h"
#include "text/token_ids.h"
#include "train/distributed/communicator.h"
#include "train/optim/adamw.h"
#include "train/train_config.h"
#include "train/trained_weights.h"

namespace predgen::train {

/// The gradient norms of the last steps taken, from which outliers are judged. Their median, unlike
/// mean and deviation (by which llm.c and OLMo skip steps), is not shifted by the outliers that it
/// must detect, and does not flag outliers among nearly equal norms.
class GradientNorms {
 public:
  static constexpr size_t kMost = 128;   // steps looked back on
  static constexpr size_t kFewest = 32;  // needed for a median

  GradientNorms() = default;
  /// Restores values(); the newest kMost are kept.
  explicit GradientNorms(std::vector<double> oldest_first);

  void add(double norm);
  std::optional<double> median() const;
  /// Whether `norm` is more than `factor` times the median; factor 0: never.
  bool is_outlier(double norm, double factor) const;

  const std::vector<double>& values() const { return values_; }  // the oldest first

 private:
  std::vector<double> values_;
};

struct TrainState {
  int64_t step = 0;           // optimizer steps tried, skipped ones included
  int64_t samples = 0;        // records consumed by all ranks
  int64_t skipped_steps = 0;  // because a gradient was not finite or an outlier
  int64_t outlier_steps = 0;  // of these, those with an outlier
  GradientNorms norms;        // of the last steps that were not skipped
  double seconds = 0.0;       // of training, including all resumed runs
};

/// What must match for a resume: the settings of a run by name, as spelled in its
/// configuration.
using RunIdentity = std::map<std::string, std::string>;

/// The step-00000500/ folders of a run: the weights (a usable adapter or model folder),
/// optimizer.safetensors, state.json, and DONE, written last. Random numbers need no state: all
/// derive from (seed, step).
class CheckpointStore {
 public:
  CheckpointStore(std::filesystem::path folder, RunIdentity identity, int64_t keep_last);

  /// The newest finished checkpoint.
  std::optional<std::filesystem::path> newest() const;
  /// Writes a checkpoint and then deletes all but the newest keep_last.
  void save(const TrainState& state, const TrainedWeights& weights, const AdamW& optimizer) const;
  /// UserError if the checkpoint belongs to another run, listing every setting that differs (larger
  /// max_steps or epochs are allowed: the run goes on to more steps, which is logged), or was
  /// written by a version of this program that stored other things.
  TrainState load(const std::filesystem::path& checkpoint, TrainedWeights& weights,
                  AdamW& optimizer) const;

 private:
  std::vector<std::filesystem::path> finished() const;  // oldest first
  void write(const std::filesystem::path& folder, const TrainState& state,
             const TrainedWeights& weights, const AdamW& optimizer) const;

  const std::filesystem::path folder_;
  const RunIdentity identity_;
  const int64_t keep_last_;
};

/// Reserves an output folder for one run, until the object is destroyed or its process ends in any
/// way. Leaves nothing in the folder.
class OutputLock {
 public:
  /// Creates the folder if missing. UserError while another run holds it; only a warning on a file
  /// system that cannot lock folders, such as some network ones.
  explicit OutputLock(const std::filesystem::path& folder);
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// What must be the same when a checkpoint is resumed, on any number of ranks and wherever its
/// files are then.
RunIdentity run_identity(const TrainConfig& config, const data::DatasetReader& dataset);

/// UserError, on all ranks, if they would train different things (whose gradients would silently be
/// summed) or disagree on a setting that decides when a collective is due. `others`: datasets not
/// trained on, null if absent; `stop_tokens`: of the watch. A collective.
void check_same_run(const TrainConfig& config, const RunIdentity& identity,
                    const std::vector<const data::DatasetReader*>& others,
                    const TokenIds& stop_tokens, Communicator& communicator);

}  // namespace predgen::train

#pragma once

#include <filesystem>
#include <optional>

#include "core/json.h"
#include "train/optim/adamw.h"
#include "train/trained_weights.h"

namespace predgen {

struct TrainState {
  int64_t step = 0;           // optimizer steps tried, skipped ones included
  int64_t samples = 0;        // records consumed by all ranks
  int64_t skipped_steps = 0;  // because a gradient was not finite
  double seconds = 0.0;       // of training, over all resumes
};

/// The step-00000500/ folders of a run: the weights (a usable adapter or model folder),
/// optimizer.safetensors, state.json, and DONE, written last. Random numbers need no state: all of
/// them come from (seed, step).
class CheckpointStore {
 public:
  /// `identity`: what must be equal for a resume.
  CheckpointStore(std::filesystem::path folder, Json identity, int64_t keep_last);

  /// The newest finished checkpoint.
  std::optional<std::filesystem::path> newest() const;
  /// Writes a checkpoint and then deletes all but the newest keep_last.
  void save(const TrainState& state, const TrainedWeights& weights, const AdamW& optimizer) const;
  /// UserError shows what differs when the checkpoint belongs to another run.
  TrainState load(const std::filesystem::path& checkpoint, TrainedWeights& weights,
                  AdamW& optimizer) const;

 private:
  std::vector<std::filesystem::path> finished() const;  // oldest first
  void write(const std::filesystem::path& folder, const TrainState& state,
             const TrainedWeights& weights, const AdamW& optimizer) const;

  const std::filesystem::path folder_;
  const Json identity_;
  const int64_t keep_last_;
};

}  // namespace predgen

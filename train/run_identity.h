#pragma once

#include <filesystem>
#include <vector>

#include "data/dataset_store.h"
#include "text/token_ids.h"
#include "train/checkpoint_store.h"
#include "train/distributed/communicator.h"
#include "train/train_config.h"

namespace predgen::train {

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

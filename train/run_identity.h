#pragma once

#include <vector>

#include "data/dataset_store.h"
#include "text/token_ids.h"
#include "train/checkpoint_store.h"
#include "train/distributed/communicator.h"
#include "train/train_config.h"

namespace predgen::train {

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

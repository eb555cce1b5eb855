#pragma once

#include "data/dataset_store.h"
#include "train/distributed/communicator.h"
#include "train/objectives/loss_terms.h"
#include "train/objectives/objective.h"
#include "train/train_config.h"

namespace predgen::train {

/// Mean of every term of the objective over the first config.held_out_records records (0: all),
/// split among the ranks. A collective. Draws a progress bar on rank 0.
LossTerms held_out_losses(Transformer& model, const Objective& objective,
                          const data::DatasetReader& records, const TrainConfig& config,
                          Communicator& communicator);

}  // namespace predgen::train

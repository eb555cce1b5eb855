#pragma once

#include <stop_token>
#include <string>

#include "train/distributed/communicator.h"
#include "train/train_config.h"

namespace predgen::train {

/// Runs a training from its configuration to <output>/final. `resume`: "none" (the output folder
/// must be empty), "auto" (go on from the newest finished checkpoint, if there is one) or the path
/// of a checkpoint. Every rank calls it with the same arguments; rank 0 alone looks for
/// checkpoints, writes files and speaks to the log. Throws Interrupted, on all ranks, when it
/// stopped early with a checkpoint because one of them was asked to.
void train(const TrainConfig& config, const std::string& resume, Communicator& communicator,
           const std::stop_token& stop);

}  // namespace predgen::train

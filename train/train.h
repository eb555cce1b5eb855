#pragma once

#include <stop_token>
#include <string>

#include "train/distributed/communicator.h"
#include "train/train_config.h"

namespace predgen::train {

/// Runs a training run from its configuration to <output>/final. `resume`: "none" (the output
/// folder must be empty), "auto" (continue from the newest finished checkpoint, if any) or the path
/// of a checkpoint. Every rank calls it with the same arguments; rank 0 alone looks for
/// checkpoints, writes files and speaks to the log. Throws Interrupted, on all ranks, if it stopped
/// early with a checkpoint because one of them was asked to.
void train(const TrainConfig& config, const std::string& resume, Communicator& communicator,
           const std::stop_token& stop);

}  // namespace predgen::train

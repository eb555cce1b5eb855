#pragma once

#include <string>

#include "train/distributed/communicator.h"
#include "train/train_config.h"

namespace predgen {

/// Runs a training from its configuration to <output>/final. `resume`: "none" (the output folder
/// must be empty), "auto" (go on from the newest finished checkpoint, if there is one) or the path
/// of a checkpoint. Throws Interrupted when it stopped early with a checkpoint.
void train(const TrainConfig& config, const std::string& resume, Communicator& communicator);

}  // namespace predgen

#pragma once

#include <map>
#include <string>

#include "data/dataset_store.h"
#include "train/objectives/objective.h"
#include "train/train_config.h"

namespace predgen {

/// Mean of every term of the objective over the first config.held_out_records records (0: all), on
/// this rank alone. Draws a progress bar.
std::map<std::string, double> held_out_losses(const Transformer& model, const Objective& objective,
                                              const DatasetReader& records,
                                              const TrainConfig& config);

}  // namespace predgen

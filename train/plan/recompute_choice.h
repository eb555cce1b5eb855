#pragma once

#include <cstdint>

#include "model/model_config.h"
#include "train/distributed/communicator.h"
#include "train/plan/plan_case.h"
#include "train/train_config.h"

namespace predgen::train {

/// UserError for a model whose layers read what others made, if any of them is to be run twice or
/// is fetched for a pass.
void check_recomputed(const ModelConfig& model, const TrainConfig& train);

/// The fewest recomputed layers with which the run takes at most `limit` bytes; all that may be if
/// none do.
int64_t layers_to_recompute(const ModelConfig& model, const TrainConfig& train,
                            const PlanCase& plan_case, int64_t limit);

/// How many layers a run recomputes: as configured or, with kAutoLayers, the most that any rank
/// needs to fit into its `memory` bytes (free_memory()), so the same number on all ranks. A
/// collective. UserError as check_recomputed().
int64_t choose_recomputed(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t memory, Communicator& communicator);

}  // namespace predgen::train

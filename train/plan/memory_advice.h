#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "train/distributed/communicator.h"
#include "train/plan/plan_sizes.h"
#include "train/train_config.h"

namespace predgen::train {

/// A setting that saves memory, and the peak of the run with it.
struct MemoryKnob {
  std::string setting;
  int64_t peak_bytes = 0;
};

/// The changes to make, each on top of those before, until the run takes at most `limit` bytes or
/// nothing is left to change. Cheapest in time first.
std::vector<MemoryKnob> memory_knobs(const ModelConfig& model, const TrainConfig& train,
                                     const PlanCase& plan_case, int64_t limit);
/// The changes in one line: "the plan says 31.24 GiB; `recompute: all` takes 18.34 GiB, then ...".
std::string memory_advice(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t limit);

/// The part of a device's memory that a plan may fill: 95 %; the rest is lost to fragmentation.
int64_t usable(int64_t memory_bytes);

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

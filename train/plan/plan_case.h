#pragma once

#include "data/dataset_store.h"
#include "train/objectives/objective.h"
#include "train/plan/memory_plan.h"

namespace predgen {

/// Where a run goes: the device, and what this process, which has read no model yet, holds on it.
PlanCase case_of(c10::Device device, int world_size);

/// Sets the rows: the longest that the records become. `dataset` is not empty.
void set_longest_row(const DatasetReader& dataset, const Objective& objective, PlanCase& plan_case);

}  // namespace predgen

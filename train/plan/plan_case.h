#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "data/dataset_store.h"
#include "train/objectives/objective.h"

namespace predgen::train {

/// What a run's memory depends on beside its configuration.
struct PlanCase {
  int64_t row_tokens = 0;     // of the longest row
  int64_t taught_tokens = 0;  // of it, at most
  int64_t noisy_tokens = 0;   // of it, at most: compared with what the model says without noise
  bool has_segments = false;  // rows hold parts that do not see each other
  int world_size = 1;
  bool is_cuda = false;
  bool bfloat16_products = true;  // has_bfloat16_products()
  int64_t process_bytes = 0;      // on a CPU: resident before a model is loaded
};

/// Where a run goes: the device, and what this process, which has read no model yet, holds on it.
PlanCase case_of(c10::Device device, int world_size);

/// Sets the rows: the longest that the records become. `dataset` is not empty.
void set_longest_row(const data::DatasetReader& dataset, const Objective& objective,
                     PlanCase& plan_case);

}  // namespace predgen::train

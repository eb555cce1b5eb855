#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "data/dataset_store.h"
#include "train/objectives/objective.h"

namespace predgen::train {

/// What a run's memory depends on besides its configuration.
struct PlanCase {
  int64_t row_tokens = 0;     // tokens of the longest row
  int64_t taught_tokens = 0;  // of it, at most
  int64_t noisy_tokens = 0;   // of it, at most: compared with the model's noiseless output
  bool has_segments = false;  // rows have parts that do not see each other
  int world_size = 1;
  bool is_cuda = false;
  bool bfloat16_products = true;  // has_bfloat16_products()
  int64_t process_bytes = 0;      // on a CPU: resident before loading a model
};

/// The case for a run on `device`; call it before this process loads a model.
PlanCase case_of(c10::Device device, int world_size);

/// Sets the sizes of the longest row that the records give. `dataset` must not be empty.
void set_longest_row(const data::DatasetReader& dataset, const Objective& objective,
                     PlanCase& plan_case);

}  // namespace predgen::train

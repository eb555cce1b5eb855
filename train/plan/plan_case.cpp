#include "train/plan/plan_case.h"

#include <algorithm>

#include "model/device_memory.h"
#include "train/optim/precision.h"

namespace predgen::train {

PlanCase case_of(c10::Device device, int world_size) {
  return {.world_size = world_size,
          .is_cuda = device.is_cuda(),
          .bfloat16_products = has_bfloat16_products(device),
          .process_bytes = resident_bytes()};
}

void set_longest_row(const data::DatasetReader& dataset, const Objective& objective,
                     PlanCase& plan_case) {
  plan_case.row_tokens = plan_case.taught_tokens = plan_case.noisy_tokens = 0;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const data::RecordSize size = dataset.size_of(i);
    const int64_t row = objective.longest_row(size);
    plan_case.row_tokens = std::max(plan_case.row_tokens, row);
    plan_case.taught_tokens = std::max(plan_case.taught_tokens, row - size.prompt_length);
    int64_t noisy = row - size.tokens;
    for (const data::RecordSize::Block& block : size.blocks) noisy -= block.tokens;
    plan_case.noisy_tokens = std::max(plan_case.noisy_tokens, noisy);
    plan_case.has_segments = plan_case.has_segments || row > size.tokens;
  }
}

}  // namespace predgen::train

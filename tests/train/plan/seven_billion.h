#pragma once

#include "train/plan/memory_plan.h"

namespace predgen::train {

inline ModelConfig qwen_7b() {
  ModelConfig config;
  config.vocab_size = 152064;
  config.hidden_size = 3584;
  config.intermediate_size = 18944;
  config.num_heads = 28;
  config.num_kv_heads = 4;
  config.head_dim = 128;
  config.layers.assign(28, {.attention = {.qkv_bias = true}});
  config.dtype = "bfloat16";
  return config;
}

inline TrainConfig one_card() {
  TrainConfig config;
  config.lora.rank = 32;
  config.compute = Compute::kBFloat16;
  config.batch_size = config.global_batch = 1;
  config.num_recomputed = kAllLayers;
  return config;
}

inline constexpr PlanCase kCard{.row_tokens = 2048,
                                .taught_tokens = 1024,
                                .noisy_tokens = 1024,
                                .has_segments = true,
                                .is_cuda = true};
inline constexpr int64_t kGiB = int64_t{1} << 30;

inline int64_t peak(const TrainConfig& config, const PlanCase& plan_case = kCard) {
  return MemoryPlan(qwen_7b(), config, plan_case).peak_bytes();
}

}  // namespace predgen::train

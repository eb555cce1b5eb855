#include "train/plan/recompute_choice.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "train/plan/memory_advice.h"
#include "train/plan/memory_plan.h"

namespace predgen::train {

void check_recomputed(const ModelConfig& model, const TrainConfig& train) {
  const bool is_none = train.num_recomputed == kAutoLayers || train.num_recomputed == 0;
  if (!model.has_side_inputs() || (is_none && train.base.is_resident())) return;
  throw UserError(
      "recompute: layers of a {} read what others made, and are not run twice: set it to none, "
      "and keep the base in memory (base.weights: full, neither base.shard nor base.offload)",
      model.architecture);
}

int64_t layers_to_recompute(const ModelConfig& model, const TrainConfig& train,
                            const PlanCase& plan_case, int64_t limit) {
  if (model.has_side_inputs()) return 0;
  if (!train.base.is_resident()) return model.num_layers();
  TrainConfig tried = train;
  for (int64_t count = 0; count < model.num_layers(); ++count) {
    tried.num_recomputed = count;
    if (MemoryPlan(model, tried, plan_case).peak_bytes() <= limit) return count;
  }
  return model.num_layers();
}

int64_t choose_recomputed(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t memory, Communicator& communicator) {
  check_recomputed(model, train);
  if (model.has_side_inputs()) return 0;
  if (train.num_recomputed != kAutoLayers)
    return std::min(train.num_recomputed, model.num_layers());
  const int64_t own = layers_to_recompute(model, train, plan_case, usable(memory));
  const at::Tensor all = at::empty({communicator.world_size()}, at::kLong);
  communicator.all_gather(at::tensor({own}, at::kLong), all);
  const auto most = all.max().item<int64_t>();
  if (communicator.is_main()) {
    if (most == 0) {
      spdlog::info("recompute: auto: the run fits into the {} that are free; no layer is run twice",
                   to_gib(memory));
    } else {
      spdlog::info("recompute: auto runs {} of {} layers twice, to fit into the {} that are free",
                   most, model.num_layers(), to_gib(memory));
    }
  }
  return most;
}

}  // namespace predgen::train

#include "train/plan/memory_advice.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "train/plan/memory_plan.h"

namespace predgen::train {

std::vector<MemoryKnob> memory_knobs(const ModelConfig& model, const TrainConfig& train,
                                     const PlanCase& plan_case, int64_t limit) {
  std::vector<MemoryKnob> knobs;
  TrainConfig changed = train;
  PlanCase changed_case = plan_case;
  const auto peak = [&] { return MemoryPlan(model, changed, changed_case).peak_bytes(); };
  const auto turn = [&](bool possible, std::string setting, const auto& change) {
    if (!possible || (!knobs.empty() && knobs.back().peak_bytes <= limit)) return;
    const TrainConfig config_before = changed;
    const PlanCase case_before = changed_case;
    const int64_t bytes_before = peak();
    change();
    const int64_t bytes = peak();
    if (bytes < bytes_before) {
      knobs.push_back({std::move(setting), bytes});
    } else {
      changed = config_before;
      changed_case = case_before;
    }
  };
  const bool runs_twice = !model.has_side_inputs();  // or fetches layers (check_recomputed())
  turn(runs_twice && changed.num_recomputed < model.num_layers(), "recompute: all",
       [&] { changed.num_recomputed = kAllLayers; });
  for (int64_t size = changed.batch_size;
       size > 1 && (knobs.empty() || knobs.back().peak_bytes > limit);) {
    int64_t smaller = size / 2;
    while (train.global_batch % smaller != 0) --smaller;
    turn(true, fmt::format("batch_size: {}", smaller), [&] {
      changed.global_batch = changed.num_micro_batches() * changed.batch_size;
      changed.batch_size = smaller;
    });
    size = smaller;
  }
  const bool is_lora = train.mode == TrainMode::kLora;
  turn(is_lora && changed.compute == Compute::kFloat32, "compute: bf16",
       [&] { changed.compute = Compute::kBFloat16; });
  const bool fetches = is_lora && runs_twice;
  turn(fetches && changed.base.weights != BaseWeights::kNf4, "base.weights: nf4",
       [&] { changed.base.weights = BaseWeights::kNf4; });
  // Ranks of one machine share its memory on a CPU, so sharding must be requested there.
  const int ranks = plan_case.world_size > 1 ? plan_case.world_size : 4;
  turn(fetches && !changed.base.shard && plan_case.is_cuda,
       fmt::format("base.shard: true with {} ranks", ranks), [&] {
         changed.base.shard = true;
         changed_case.world_size = ranks;
       });
  turn(fetches && !changed.base.offload && plan_case.is_cuda, "base.offload: true",
       [&] { changed.base.offload = true; });
  return knobs;
}

std::string memory_advice(const ModelConfig& model, const TrainConfig& train,
                          const PlanCase& plan_case, int64_t limit) {
  std::string text =
      fmt::format("the plan says {}", to_gib(MemoryPlan(model, train, plan_case).peak_bytes()));
  const std::vector<MemoryKnob> knobs = memory_knobs(model, train, plan_case, limit);
  for (const MemoryKnob& knob : knobs) {
    text += fmt::format("{} `{}` takes {}", &knob == &knobs.front() ? ";" : ", then", knob.setting,
                        to_gib(knob.peak_bytes));
  }
  const bool enough = !knobs.empty() && knobs.back().peak_bytes <= limit;
  return text + (enough ? "" : "; shorter records take less (filters.max_tokens of the data)");
}

int64_t usable(int64_t memory_bytes) { return memory_bytes / 20 * 19; }

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

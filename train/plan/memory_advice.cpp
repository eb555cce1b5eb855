#include "train/plan/memory_advice.h"

#include "core/error.h"
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

}  // namespace predgen::train

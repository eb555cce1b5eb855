#include "train/objectives/make_objective.h"

#include "core/error.h"
#include "train/objectives/autoregressive_objective.h"

namespace predgen::train {

const std::vector<std::pair<std::string, ObjectiveKind>>& objective_kinds() {
  static const std::vector<std::pair<std::string, ObjectiveKind>> kinds{
      {"autoregressive", ObjectiveKind::kAutoregressive},
      {"cllm", ObjectiveKind::kCllm},
      {"jacobi_forcing", ObjectiveKind::kJacobiForcing},
      {"mtp", ObjectiveKind::kMtp}};
  return kinds;
}

ConsistencyOptions consistency_preset(ObjectiveKind kind) {
  ConsistencyOptions options;
  if (kind == ObjectiveKind::kCllm) {
    options.ar_weight = 10.0;
    options.blocks = BlockChoice::kOne;
  }
  if (kind == ObjectiveKind::kJacobiForcing) {
    options.context = NoisyContext::kNoisy;
    options.states = StateChoice::kProgressive;
  }
  return options;
}

std::unique_ptr<Objective> make_objective(const ObjectiveConfig& config) {
  switch (config.kind) {
    case ObjectiveKind::kAutoregressive:
      return std::make_unique<AutoregressiveObjective>(config.consistency.label_smoothing);
    case ObjectiveKind::kCllm:
    case ObjectiveKind::kJacobiForcing:
      return std::make_unique<ConsistencyObjective>(config.consistency);
    case ObjectiveKind::kMtp:
      return std::make_unique<MtpObjective>(config.mtp);
  }
  throw Error("unknown objective");
}

}  // namespace predgen::train

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/objectives/consistency_objective.h"

namespace predgen::train {

enum class ObjectiveKind { kAutoregressive, kCllm, kJacobiForcing };

struct ObjectiveConfig {
  ObjectiveKind kind = ObjectiveKind::kAutoregressive;
  ConsistencyOptions consistency;  // of kAutoregressive: its label_smoothing alone
};

/// The kinds by the names that configurations use.
const std::vector<std::pair<std::string, ObjectiveKind>>& objective_kinds();

/// What the published recipe of `kind` sets.
ConsistencyOptions consistency_preset(ObjectiveKind kind);

std::unique_ptr<Objective> make_objective(const ObjectiveConfig& config);

}  // namespace predgen::train

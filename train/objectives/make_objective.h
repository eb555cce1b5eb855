#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/objectives/consistency_objective.h"
#include "train/objectives/mtp_objective.h"

namespace predgen::train {

enum class ObjectiveKind { kAutoregressive, kCllm, kJacobiForcing, kMtp };

struct ObjectiveConfig {
  ObjectiveKind kind = ObjectiveKind::kAutoregressive;
  ConsistencyOptions consistency{};  // for kAutoregressive: only label_smoothing
  MtpOptions mtp{};                  // for kMtp only

  /// Whether it learns from trajectories.
  bool is_consistency() const {
    return kind == ObjectiveKind::kCllm || kind == ObjectiveKind::kJacobiForcing;
  }
};

/// The kinds by their names in configurations.
const std::vector<std::pair<std::string, ObjectiveKind>>& objective_kinds();

/// The settings of the published recipe of `kind`.
ConsistencyOptions consistency_preset(ObjectiveKind kind);

std::unique_ptr<Objective> make_objective(const ObjectiveConfig& config);

}  // namespace predgen::train

#pragma once

#include <filesystem>
#include <optional>

#include "core/clock.h"

namespace predgen {

/// What was used of the machine since some moment in the past.
struct MachineUse {
  Seconds own{0};      // processor time of this process
  Seconds helpers{0};  // of its child processes that run now, without theirs
  /// Of the processors, whoever used them (RAPL); nullopt: the machine does not tell, or only root.
  std::optional<double> joules{};

  /// From `before` on. No time is negative: a child that was started anew begins at zero. No joules
  /// if their counter has begun anew.
  MachineUse since(const MachineUse& before) const;
};

/// Until now. `powercap`: Linux's folder of energy counters.
MachineUse machine_use(const std::filesystem::path& powercap = "/sys/class/powercap");

}  // namespace predgen

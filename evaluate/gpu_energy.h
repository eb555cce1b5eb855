#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <optional>

namespace predgen::evaluate {

/// Reads the energy in joules that a GPU, all of it, has used since its driver was loaded; nothing
/// if it cannot be read any more. From NVML, which is looked for at run time. Null for other
/// devices, without that library, and for GPUs that do not count (those before Volta).
using EnergyCounter = std::function<std::optional<double>()>;
EnergyCounter make_energy_counter(const c10::Device& device);

}  // namespace predgen::evaluate

#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <optional>

namespace predgen::evaluate {

/// Reads the energy in joules that a whole GPU has used since its driver was loaded; nullopt if it
/// can no longer be read. From NVML, loaded at run time. Null for other devices, without that
/// library, and for GPUs without an energy counter (those before Volta).
using EnergyCounter = std::function<std::optional<double>()>;
EnergyCounter make_energy_counter(const c10::Device& device);

}  // namespace predgen::evaluate

#pragma once

#include <string>

#include "core/json.h"
#include "evaluate/model_speed.h"
#include "model/device_memory.h"

namespace predgen::evaluate {

/// What the figures of make_speed_report() mean, one line each: whether the model keeps up with a
/// voice, how many drafted tokens must be right for a draft to save time, whether Jacobi saves any.
std::string speed_verdict(const Json& report);

struct SpeedReportInput {
  const SpeedConfig& config;
  const ModelSpeed& speed;
  const DecodeBytes& bytes;
  const MemoryBandwidth& bandwidth;
  const PeakMemory& peak;
  Json environment;  // model, device, threads, dtype, ..: the first keys of the report
};

/// Seconds and bytes, and figures derived from them. A figure is {"median", "min", "max",
/// "values"}, with one value per run; null if a run has none.
Json make_speed_report(const SpeedReportInput& input);

/// The table for a terminal.
std::string format_speed(const Json& report);

}  // namespace predgen::evaluate

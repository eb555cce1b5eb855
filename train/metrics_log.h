#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/json.h"

namespace predgen::train {

/// metrics.jsonl: one JSON object per line, each with a "step", on disk when write() returns.
class MetricsLog {
 public:
  /// Removes lines of steps after `resumed_step`, written by a run that continued past its last
  /// checkpoint, and a truncated last line.
  MetricsLog(const std::filesystem::path& file, int64_t resumed_step);
  void write(const Json& line);

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
};

/// Calls `take` with every line before a truncated one. UserError if the file does not exist.
void read_metrics(const std::filesystem::path& file, const std::function<void(const Json&)>& take);

}  // namespace predgen::train

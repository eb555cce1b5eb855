#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/json.h"

namespace predgen::train {

/// metrics.jsonl: one JSON object per line, on disk when write() returns. Each has a "step".
class MetricsLog {
 public:
  /// Lines of later steps than `resumed_step`, written by a run that went on after its last
  /// checkpoint, are removed, and so is a line cut off in the middle.
  MetricsLog(const std::filesystem::path& file, int64_t resumed_step);
  void write(const Json& line);

 private:
  std::filesystem::path file_;
  std::ofstream stream_;
};

/// Calls `take` with every line up to one cut off in the middle. UserError if there is no file.
void read_metrics(const std::filesystem::path& file, const std::function<void(const Json&)>& take);

}  // namespace predgen::train

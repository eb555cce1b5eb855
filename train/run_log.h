#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "train/metrics_log.h"
#include "train/tensorboard_writer.h"

namespace predgen::train {

/// Logs the scalars of a run, to its folder's metrics.jsonl and for TensorBoard. Rank 0 only.
class RunLog {
 public:
  /// Discards what an earlier run wrote about steps after `resumed_step`.
  RunLog(const std::filesystem::path& folder, int64_t resumed_step);
  void write(int64_t step, const std::map<std::string, double>& scalars);

 private:
  MetricsLog metrics_;
  TensorboardWriter tensorboard_;
};

}  // namespace predgen::train

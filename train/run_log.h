#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "train/metrics_log.h"
#include "train/tensorboard_writer.h"

namespace predgen::train {

/// The scalars of a run, in its folder's metrics.jsonl and for TensorBoard. For rank 0 alone.
class RunLog {
 public:
  /// What an earlier run wrote about later steps than `resumed_step` is forgotten.
  RunLog(const std::filesystem::path& folder, int64_t resumed_step);
  void write(int64_t step, const std::map<std::string, double>& scalars);

 private:
  MetricsLog metrics_;
  TensorboardWriter tensorboard_;
};

}  // namespace predgen::train

#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

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

/// Scalars for TensorBoard: a file of records (length, its masked CRC-32C, a protocol buffer
/// `Event`, its masked CRC-32C). The few fields needed are encoded by hand.
class TensorboardWriter {
 public:
  /// A new events file in `folder`. TensorBoard then ignores what older files there say about steps
  /// from `first_step` on. `wall_time`: Unix seconds, in the file's name.
  TensorboardWriter(const std::filesystem::path& folder, int64_t first_step, double wall_time);
  void scalar(const std::string& tag, int64_t step, double value, double wall_time);

  const std::filesystem::path& file() const { return file_; }

 private:
  void write_record(const std::string& event);
  std::filesystem::path file_;
  std::ofstream stream_;
};

/// CRC-32C (Castagnoli), as TFRecord files use it before masking.
uint32_t crc32c(const std::string& bytes);

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

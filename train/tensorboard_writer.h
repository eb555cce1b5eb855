#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace predgen::train {

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

}  // namespace predgen::train

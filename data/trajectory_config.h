#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/setting.h"
#include "data/repetition.h"

namespace predgen::data {

/// The target of the cross-entropy: the dataset's answer or the model's own.
enum class ArLabels { kDataset, kFixedPoint };

/// configs/data/*_trajectories.yaml; settings_of() says what it means.
struct TrajectoryConfig {
  std::filesystem::path dataset, model, adapter, output, chat_template;
  std::string device = "auto", dtype = "auto";
  int64_t seed = 0, threads = 0;
  int64_t batch_tokens = 1024;  // affects only speed and memory
  int64_t block_size = 16, max_new_tokens = 256;
  int64_t cache_positions = 32768;  // as with batch_tokens
  int64_t records_per_piece = 512, max_records = 0;
  ArLabels ar_labels = ArLabels::kDataset;
  RepetitionConfig cleaning;
};

Settings settings_of(TrajectoryConfig& config);

}  // namespace predgen::data

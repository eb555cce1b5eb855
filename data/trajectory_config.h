#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/config.h"
#include "data/repetition.h"

namespace predgen::data {

/// What the cross-entropy learns: the dataset's answer or the model's own.
enum class ArLabels { kDataset, kFixedPoint };

/// configs/data/*_trajectories.yaml.
struct TrajectoryConfig {
  std::filesystem::path dataset, model, adapter, output;
  std::filesystem::path chat_template;  // instead of the model's: what the dataset was built with
  std::string device = "auto", dtype = "auto";
  int64_t seed = 0;
  int64_t batch_tokens = 1024;  // of one forward pass; changes nothing but speed and memory
  int64_t threads = 0;
  int64_t block_size = 16;
  int64_t max_new_tokens = 256;
  int64_t cache_positions = 32768;  // of all answers under way; as batch_tokens
  int64_t records_per_piece = 512;  // records that a kill may cost, and a shard of the output
  int64_t max_records = 0;          // of the dataset; 0: all
  ArLabels ar_labels = ArLabels::kDataset;
  RepetitionConfig cleaning;

  static TrajectoryConfig read(ConfigReader& reader);
};

}  // namespace predgen::data

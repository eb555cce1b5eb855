#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/config.h"
#include "data/repetition.h"

namespace predgen::data {

/// The target of the cross-entropy: the dataset's answer or the model's own.
enum class ArLabels { kDataset, kFixedPoint };

/// configs/data/*_trajectories.yaml.
struct TrajectoryConfig {
  std::filesystem::path dataset, model, adapter, output;
  std::filesystem::path chat_template;  // replaces the model's: as the dataset was built with
  std::string device = "auto", dtype = "auto";
  int64_t seed = 0;
  int64_t batch_tokens = 1024;  // per forward pass; affects only speed and memory
  int64_t threads = 0;
  int64_t block_size = 16;
  int64_t max_new_tokens = 256;
  int64_t cache_positions = 32768;  // of all answers under way; as with batch_tokens
  int64_t records_per_piece = 512;  // most records lost by a kill; size of an output shard
  int64_t max_records = 0;          // of the dataset; 0: all
  ArLabels ar_labels = ArLabels::kDataset;
  RepetitionConfig cleaning;

  static TrajectoryConfig read(ConfigReader& reader);
};

}  // namespace predgen::data

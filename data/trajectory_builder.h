#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/config.h"
#include "core/json.h"
#include "data/repetition.h"
#include "runtime/engine/engine.h"
#include "text/tokenizer.h"

namespace predgen {

/// What the cross-entropy learns: the dataset's answer or the model's own.
enum class ArLabels { kDataset, kFixedPoint };

/// configs/data/*_trajectories.yaml.
struct TrajectoryConfig {
  std::filesystem::path dataset, model, adapter, output;
  std::filesystem::path chat_template;  // what the dataset was built with, if not the model's
  std::string device = "auto", dtype = "auto";
  int64_t seed = 0;
  int64_t block_size = 16;
  int64_t max_answer_tokens = 256;
  int64_t batch_size = 16;          // prompts solved together; changes nothing but speed
  int64_t records_per_flush = 256;  // records that a kill may cost
  int64_t max_records = 0;          // of the dataset; 0: all
  int64_t threads = 0;
  ArLabels ar_labels = ArLabels::kDataset;
  RepetitionConfig cleaning;

  static TrajectoryConfig read(ConfigReader& reader);
};

/// `predgen data trajectories`. Continues where a killed run stopped; returns the manifest.
/// `model_hash` names the weights in the recipe. Throws Interrupted between blocks: what was
/// flushed stays.
Json build_trajectories(const TrajectoryConfig& config, Engine& engine,
                        const std::string& model_hash, const Tokenizer& tokenizer);

/// Of config.json and every weight file of a model folder and of an adapter folder (may be empty).
std::string hash_model(const std::filesystem::path& model, const std::filesystem::path& adapter);

}  // namespace predgen

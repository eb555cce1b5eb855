#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/build_config.h"
#include "model/model_config.h"
#include "model/weights/lora.h"
#include "train/base/weight_codec.h"
#include "train/objectives/make_objective.h"
#include "train/optim/adamw.h"
#include "train/optim/precision.h"

namespace predgen::train {

constexpr int64_t kAllLayers = int64_t{1} << 40;
constexpr int64_t kAutoLayers = -1;

enum class TrainMode { kLora, kFull };

/// The collapse watch: the model being trained answers prompts.
struct WatchConfig {
  int64_t every = 0;  // steps; 0: never
  std::filesystem::path dataset;
  int64_t records = 16, max_new_tokens = 64, block_size = 16;
};

/// A training run as its YAML file describes it; settings_of() says what the keys mean.
struct TrainConfig {
  std::filesystem::path model, initialize, tokenizer, chat_template;
  TrainMode mode = TrainMode::kLora;
  LoraConfig lora;
  BaseConfig base;  // of kLora
  std::filesystem::path start_from;
  ObjectiveConfig objective;

  std::filesystem::path dataset, held_out;  // held_out may be empty
  std::optional<data::BuildConfig> build;   // how this run makes `dataset`; none: it is there
  std::vector<std::filesystem::path> replay;
  int64_t held_out_records = 0;              // only the first ones; 0: all
  int64_t batch_size = 8, global_batch = 0;  // 0: batch_size
  int64_t max_steps = 0;                     // one of max_steps and epochs is > 0
  double epochs = 0.0;
  int64_t stop_at_step = 0;

  double learning_rate = 1e-4;
  ScheduleKind schedule = ScheduleKind::kCosine;
  int64_t warmup_steps = 0;
  double warmup_ratio = 0.0;  // one of the two is 0
  double min_ratio = 0.0;
  AdamWOptions optimizer;
  double max_grad_norm = 1.0, outlier_factor = 0.0;
  Compute compute = Compute::kFloat32;
  /// How many of the first layers the backward pass recomputes; kAllLayers: every one; kAutoLayers:
  /// as many as needed to fit into the device's memory.
  int64_t num_recomputed = 0;
  std::string device = "auto";
  int64_t threads = 0, seed = 0;

  std::filesystem::path output;
  std::string save_dtype = "fp32";  // of final/
  int64_t save_every = 500, keep_last = 2, eval_every = 0, log_every = 10;
  WatchConfig watch;

  /// The configuration of `model` or `initialize`.
  ModelConfig model_config() const;
  /// `dataset` followed by `replay`.
  std::vector<std::filesystem::path> datasets() const;
  /// Micro-batches per step, over all ranks.
  int64_t num_micro_batches() const { return global_batch == 0 ? 1 : global_batch / batch_size; }

  /// UserError with one line per problem in the file or in an override (key=value).
  static TrainConfig load(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides);
  /// As a YAML file with every key, defaults included.
  std::string to_yaml() const;
  /// By key ("lora.rank"), every setting of to_yaml() except those that may change when a run is
  /// resumed: a new key is included until it is exempted.
  std::map<std::string, std::string> identity() const;
};

}  // namespace predgen::train

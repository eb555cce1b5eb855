#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/build_config.h"
#include "model/model_config.h"
#include "model/weights/lora.h"
#include "train/base/base_config.h"
#include "train/objectives/make_objective.h"
#include "train/optim/adamw.h"
#include "train/optim/lr_schedule.h"
#include "train/optim/precision.h"

namespace predgen::train {

constexpr int64_t kAllLayers = int64_t{1} << 40;
constexpr int64_t kAutoLayers = -1;

enum class TrainMode { kLora, kFull };

/// The collapse watch: the model being trained answers prompts.
struct WatchConfig {
  int64_t every = 0;  // steps; 0: never
  std::filesystem::path
      dataset;                  // its first records' prompts; empty: those of the held-out records
  int64_t records = 16;         // at most
  int64_t max_new_tokens = 64;  // of an answer
  int64_t block_size = 16;      // of the Jacobi generator
};

/// A training run as its YAML file describes it; configs/train/*.yaml explain the keys.
struct TrainConfig {
  std::filesystem::path model;          // base model folder; or, from scratch:
  std::filesystem::path initialize;     // a config.json
  std::filesystem::path tokenizer;      // folder; default: `model`
  std::filesystem::path chat_template;  // replaces its own; as the datasets were built with
  TrainMode mode = TrainMode::kLora;
  LoraConfig lora;
  BaseConfig base;  // of kLora
  std::filesystem::path
      start_from;  // an adapter to continue from, of the same shape; empty: a new one
  ObjectiveConfig objective;

  std::filesystem::path dataset, held_out;    // held_out may be empty
  std::optional<data::BuildConfig> build;     // how this run makes `dataset`; none: it is there
  std::vector<std::filesystem::path> replay;  // datasets mixed in against forgetting
  int64_t held_out_records = 0;               // only the first ones; 0: all
  int64_t batch_size = 8;                     // records per micro-batch
  int64_t global_batch = 0;  // records per step, over all ranks together; 0: batch_size
  int64_t max_steps = 0;     // one of max_steps and epochs is > 0
  double epochs = 0.0;
  int64_t stop_at_step = 0;  // pause there with a checkpoint, as a stop would; 0: never

  double learning_rate = 1e-4;
  ScheduleKind schedule = ScheduleKind::kCosine;
  int64_t warmup_steps = 0;
  double warmup_ratio = 0.0;  // one of the two is 0
  double min_ratio = 0.0;
  AdamWOptions optimizer;
  double max_grad_norm = 1.0;  // 0: no clipping
  double outlier_factor =
      0.0;  // steps whose gradient norm exceeds this many medians are skipped; 0: none
  Compute compute = Compute::kFloat32;
  /// How many of the first layers the backward pass recomputes, which saves their activations at
  /// the cost of a quarter to a third of a step's time; kAllLayers: every one;
  /// kAutoLayers: as many as needed to fit into the device's memory.
  int64_t num_recomputed = 0;
  std::string device = "auto";
  int64_t threads = 0;  // 0: LibTorch's own choice
  int64_t seed = 0;

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

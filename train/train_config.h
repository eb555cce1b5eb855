#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

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

/// The collapse watch: the model in training answers prompts.
struct WatchConfig {
  int64_t every = 0;  // steps; 0: never
  std::filesystem::path
      dataset;                  // its first records' prompts; empty: those of the held-out records
  int64_t records = 16;         // at most
  int64_t max_new_tokens = 64;  // of an answer
  int64_t block_size = 16;      // of the Jacobi generator
};

/// A training run as its YAML file says it; configs/train/*.yaml explain the keys.
struct TrainConfig {
  std::filesystem::path model;          // base model folder; or, from scratch:
  std::filesystem::path initialize;     // a config.json
  std::filesystem::path tokenizer;      // folder; default: `model`
  std::filesystem::path chat_template;  // instead of its own; what the datasets were built with
  TrainMode mode = TrainMode::kLora;
  LoraConfig lora;
  BaseConfig base;  // of kLora
  std::filesystem::path
      start_from;  // an adapter to go on from, of the same shape; empty: a new one
  ObjectiveConfig objective;

  std::filesystem::path dataset, held_out;    // held_out may be empty
  std::vector<std::filesystem::path> replay;  // datasets mixed in, so that nothing is forgotten
  int64_t held_out_records = 0;               // the first so many; 0: all
  int64_t batch_size = 8;                     // records per micro-batch
  int64_t global_batch = 0;  // records per step, of all ranks together; 0: batch_size
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
      0.0;  // steps with a gradient norm of so many medians are skipped; 0: none
  Compute compute = Compute::kFloat32;
  /// So many of the first layers are run again in the backward pass, which saves what they computed
  /// for a quarter to a third of the time of a step; kAllLayers: every one;
  /// kAutoLayers: as many as it takes to fit into the memory of the device.
  int64_t num_recomputed = 0;
  std::string device = "auto";
  int64_t threads = 0;  // 0: LibTorch's own choice
  int64_t seed = 0;

  std::filesystem::path output;
  std::string save_dtype = "fp32";  // of final/
  int64_t save_every = 500, keep_last = 2, eval_every = 0, log_every = 10;
  WatchConfig watch;

  /// Of `model` or `initialize`.
  ModelConfig model_config() const;
  /// `dataset` and `replay`.
  std::vector<std::filesystem::path> datasets() const;
  /// Of a step, of all ranks together.
  int64_t num_micro_batches() const { return global_batch == 0 ? 1 : global_batch / batch_size; }

  /// UserError, one line for each thing that is wrong with the file or an override (key=value).
  static TrainConfig load(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides);
  /// As a file with every key, defaults included.
  std::string to_yaml() const;
  /// By key ("lora.rank"), every setting of to_yaml() but those that may change when a run is
  /// resumed: a new key is part of it until it is exempted.
  std::map<std::string, std::string> identity() const;
};

}  // namespace predgen::train

#pragma once

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "tests/fakes/temporary_folder.h"
#include "train/distributed/communicator.h"
#include "train/train.h"
#include "train/trainer.h"

namespace predgen::train {

/// A Trainer on one rank with what it works on, and what it reported.
struct TrainingLoop {
  TrainingLoop(TrainConfig given, Objective& objective, Communicator& communicator,
               const std::stop_token& stop = {}, const TrainState& state = {})
      : config(std::move(given)),
        model(tiny_model()),
        weights(*model, config),
        optimizer(weights.parameters(), config.optimizer),
        dataset(data::open_dataset(config.dataset)),
        batches(std::vector<int64_t>(static_cast<size_t>(dataset->size()), 1), 2, 0),
        checkpoints(config.output, {}, 2),
        trainer(config,
                {*model, weights, objective, optimizer, batches, *dataset, nullptr, checkpoints,
                 communicator},
                state,
                {[this](int64_t step, const auto& scalars) { reports[step] = scalars; },
                 [this] { ++num_milestones; }},
                stop) {}

  TrainConfig config;
  std::unique_ptr<Transformer> model;
  TrainedWeights weights;
  AdamW optimizer;
  std::unique_ptr<data::DatasetReader> dataset;
  BatchSampler batches;
  CheckpointStore checkpoints;
  std::map<int64_t, std::map<std::string, double>> reports;  // scalars by step
  int64_t num_milestones = 0;
  Trainer trainer;
};

/// A folder with 23 records and a tiny model, trained in it as a CLLM from scratch.
class Training : public testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    write_data(folder_ / "data", 0);
    write_file(folder_ / "model.json", tiny_config().to_json().dump());
  }

  static void write_data(const std::filesystem::path& folder, int64_t first) {
    const auto writer = data::create_dataset(folder, {{"first", first}}, {});
    for (int64_t i = 0; i < 23; ++i) writer->append(small_record(first + i));
    writer->finish(Json::object());
  }

  TrainConfig config(const std::string& output) const {
    TrainConfig config;
    config.initialize = folder_ / "model.json";
    config.mode = TrainMode::kFull;
    config.objective.kind = ObjectiveKind::kCllm;
    config.objective.consistency.stop_tokens = {39};
    config.dataset = folder_ / "data";
    config.output = folder_ / output;
    config.batch_size = 2;
    config.global_batch = 4;
    config.max_steps = 6;
    config.learning_rate = 1e-2;
    config.warmup_steps = 2;
    config.log_every = 1;
    config.save_every = 2;
    return config;
  }

  static void run(const TrainConfig& config, const std::string& resume = "none") {
    SingleProcessCommunicator communicator;
    train(config, resume, communicator, {});
  }

  std::filesystem::path weights_file(const std::string& output) const {
    return folder_ / output / "final" / "model.safetensors";
  }
  std::string weights(const std::string& output) const { return read_file(weights_file(output)); }

  /// metrics.jsonl without what depends on the machine.
  std::vector<std::string> losses(const std::string& output) const {
    std::vector<std::string> lines;
    std::istringstream file(read_file(folder_ / output / "metrics.jsonl"));
    for (std::string line; std::getline(file, line);) {
      Json json = Json::parse(line);
      json.erase("train/seconds");
      json.erase("train/tokens_per_second");
      json.erase("memory/process_gib");
      lines.push_back(json.dump());
    }
    return lines;
  }

  static std::string message(const std::function<void()>& action) {
    try {
      action();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
};

}  // namespace predgen::train

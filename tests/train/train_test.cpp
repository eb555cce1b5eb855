#include "train/train.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <limits>
#include <set>
#include <sstream>

#include "core/error.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "data/dataset_store.h"
#include "model/weights/safetensors.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/small_records.h"
#include "tests/fakes/temporary_folder.h"
#include "train/trainer.h"

namespace predgen {
namespace {

class Training : public testing::Test {
 protected:
  void SetUp() override {
    at::set_num_threads(1);
    write_data(folder_ / "data", 0);
    write_file(folder_ / "model.json", tiny_config().to_json().dump());
  }

  static void write_data(const std::filesystem::path& folder, int64_t first) {
    const auto writer = create_dataset(folder, {{"first", first}}, {});
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
    config.gradient_accumulation = 2;
    config.max_steps = 6;
    config.learning_rate = 1e-2;
    config.warmup_steps = 2;
    config.log_every = 1;
    config.save_every = 2;
    return config;
  }

  static void run(const TrainConfig& config, const std::string& resume = "none") {
    SingleProcessCommunicator communicator;
    train(config, resume, communicator);
  }

  std::string weights(const std::string& output) const {
    return read_file(folder_ / output / "final" / "model.safetensors");
  }

  // metrics.jsonl without what depends on the clock.
  std::vector<std::string> losses(const std::string& output) const {
    std::vector<std::string> lines;
    std::istringstream file(read_file(folder_ / output / "metrics.jsonl"));
    for (std::string line; std::getline(file, line);) {
      Json json = Json::parse(line);
      json.erase("train/seconds");
      json.erase("train/tokens_per_second");
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

  /// Of rank 2, on a base that was trained for a step.
  TrainConfig lora_config(const char* output) {
    TrainConfig base = config("base");
    base.max_steps = 1;
    run(base);
    TrainConfig lora = config(output);
    lora.initialize.clear();
    lora.model = folder_ / "base" / "final";
    lora.mode = TrainMode::kLora;
    lora.lora.rank = 2;
    return lora;
  }
  std::string adapter(const char* output) const {
    return read_file(folder_ / output / "final" / "adapter_model.safetensors");
  }

  const TemporaryFolder folder_;
};

TEST_F(Training, ResumesBitForBit) {
  run(config("whole"));
  TrainConfig parts = config("parts");
  parts.stop_at_step = 3;
  EXPECT_THROW(run(parts), Interrupted);
  parts.stop_at_step = 0;
  run(parts, "auto");
  EXPECT_EQ(weights("parts"), weights("whole"));
  EXPECT_EQ(losses("parts"), losses("whole"));
  EXPECT_EQ(losses("whole").size(), 6u);
  // Not because nothing was learned, nor because the seed does nothing.
  TrainConfig other = config("other");
  other.seed = 1;
  run(other);
  EXPECT_NE(weights("other"), weights("whole"));
}

TEST_F(Training, ResumesAnAdapterWithDropoutBitForBit) {
  TrainConfig lora = lora_config("whole");
  lora.lora.dropout = 0.3;
  lora.compute = Compute::kBFloat16;
  run(lora);
  lora.output = folder_ / "parts";
  lora.stop_at_step = 4;
  EXPECT_THROW(run(lora), Interrupted);
  lora.stop_at_step = 0;
  run(lora, (folder_ / "parts" / "step-00000002").string());  // not the newest
  EXPECT_EQ(adapter("parts"), adapter("whole"));
  EXPECT_EQ(losses("parts"), losses("whole"));
}

TEST_F(Training, GoesOnFromAnAdapter) {
  TrainConfig lora = lora_config("first");
  run(lora);
  lora.start_from = folder_ / "first" / "final";
  lora.output = folder_ / "second";
  lora.learning_rate = 0;
  run(lora);
  EXPECT_EQ(adapter("second"), adapter("first"));
  lora.lora.rank = 3;
  lora.output = folder_ / "third";
  EXPECT_THAT(message([&] { run(lora); }), testing::HasSubstr("another rank"));
}

TEST_F(Training, KeepsTheLastCheckpointsAndSkipsUnfinishedOnes) {
  run(config("out"));
  const std::filesystem::path output = folder_ / "out";
  EXPECT_FALSE(std::filesystem::exists(output / "step-00000002"));
  EXPECT_TRUE(std::filesystem::exists(output / "step-00000004" / "DONE"));
  EXPECT_TRUE(std::filesystem::exists(output / "step-00000006" / "DONE"));
  std::filesystem::remove(output / "step-00000006" / "DONE");
  const CheckpointStore store(output, {}, 2);
  EXPECT_EQ(store.newest(), output / "step-00000004");
}

TEST_F(Training, RefusesAFullFolderAndAnotherRun) {
  run(config("out"));
  EXPECT_THAT(message([&] { run(config("out")); }), testing::HasSubstr("--resume auto"));
  TrainConfig changed = config("out");
  changed.learning_rate = 0.5;
  EXPECT_THAT(message([&] { run(changed, "auto"); }),
              testing::HasSubstr("learning_rate: 0.01 there, 0.5 now"));
  write_data(folder_ / "other_data", 100);
  changed = config("out");
  changed.dataset = folder_ / "other_data";
  EXPECT_THAT(message([&] { run(changed, "auto"); }), testing::HasSubstr("dataset: "));
  EXPECT_THAT(message([&] { run(config("new"), (folder_ / "nowhere").string()); }),
              testing::HasSubstr("no DONE file"));
}

TEST_F(Training, LearnsAndReportsHeldOutLoss) {
  TrainConfig learning = config("out");
  learning.objective.kind = ObjectiveKind::kAutoregressive;
  learning.max_steps = 60;
  learning.held_out = folder_ / "data";
  learning.eval_every = 30;
  run(learning);
  std::vector<double> held_out;
  for (const std::string& line : losses("out")) {
    const Json json = Json::parse(line);
    if (json.contains("held_out/ar")) held_out.push_back(json["held_out/ar"]);
  }
  ASSERT_EQ(held_out.size(), 2u);
  EXPECT_LT(held_out[1], held_out[0]);
  EXPECT_LT(held_out[1], 1.0);  // ln 40 = 3.7 before
}

TEST_F(Training, RefusesRecordsThatDoNotFit) {
  ModelConfig small = tiny_config();
  small.max_positions = 10;
  write_file(folder_ / "model.json", small.to_json().dump());
  EXPECT_THAT(message([&] { run(config("out")); }), testing::HasSubstr("room for 10"));
}

// Gives gradients that are not finite in some steps.
class SickObjective : public Objective {
 public:
  explicit SickObjective(std::set<int64_t> sick_calls) : sick_calls_(std::move(sick_calls)) {}
  LossTerms count(const Batch&, uint64_t) const override { return {{"ar", {0.0, 1.0}}}; }
  LossTerms accumulate_gradients(Transformer& model, const Batch&,
                                 const std::map<std::string, double>&, uint64_t) override {
    const bool sick = sick_calls_.contains(num_calls_++);
    for (const auto& [name, tensor] : model.named_weights()) {
      tensor.mutable_grad().fill_(sick ? std::numeric_limits<double>::quiet_NaN() : 1.0);
    }
    if (interrupt_at == num_calls_) std::raise(SIGINT);
    return {{"ar", {1.0, 1.0}}};
  }
  LossTerms evaluate(const Transformer&, const Batch&) const override { return {}; }

  int64_t interrupt_at = -1;

 private:
  std::set<int64_t> sick_calls_;
  int64_t num_calls_ = 0;  // the trial of the longest batch is call 0
};

struct Loop {
  explicit Loop(TrainConfig given, Objective& objective)
      : config(std::move(given)),
        model(tiny_model()),
        weights(*model, config),
        optimizer(weights.parameters(), config.optimizer),
        dataset(open_dataset(config.dataset)),
        batches(std::vector<int64_t>(static_cast<size_t>(dataset->size()), 1), 2, 0),
        checkpoints(config.output, {}, 2),
        trainer(config,
                {*model, weights, objective, optimizer, batches, *dataset, nullptr, checkpoints,
                 communicator},
                {}, [this](int64_t step, const auto& scalars) { reports[step] = scalars; }) {}
  TrainConfig config;
  std::unique_ptr<Transformer> model;
  TrainedWeights weights;
  AdamW optimizer;
  std::unique_ptr<DatasetReader> dataset;
  BatchSampler batches;
  CheckpointStore checkpoints;
  SingleProcessCommunicator communicator;
  std::map<int64_t, std::map<std::string, double>> reports;
  Trainer trainer;
};

TEST_F(Training, SavesItsTokenizerBesideANewModel) {
  TrainConfig plain = config("out");
  plain.tokenizer = folder_ / "tokenizer";
  make_folder(plain.tokenizer);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json",
                           "config.json", "notes.json", "model.safetensors"}) {
    write_file(std::filesystem::path(plain.tokenizer) / name, name);
  }
  const auto model = tiny_model();
  const std::filesystem::path saved = folder_ / "saved";
  TrainedWeights(*model, plain).save(saved, "fp32");
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"}) {
    EXPECT_EQ(read_file(saved / name), name);
  }
  EXPECT_FALSE(std::filesystem::exists(saved / "notes.json"));
  EXPECT_NE(read_file(saved / "config.json"), "config.json");
  EXPECT_NO_THROW(SafetensorsFile(saved / "model.safetensors"));
}

TEST_F(Training, SkipsStepsWithoutFiniteGradients) {
  TrainConfig plain = config("out");
  plain.gradient_accumulation = 1;
  SickObjective objective({2, 4});
  Loop loop(plain, objective);
  loop.trainer.run();
  EXPECT_EQ(loop.reports.at(6).at("train/skipped_steps"), 2.0);
  for (const auto& [name, tensor] : loop.model->named_weights()) {
    EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << name;
  }
}

TEST_F(Training, GivesUpAfterFiveBadStepsInARow) {
  TrainConfig plain = config("out");
  plain.gradient_accumulation = 1;
  plain.max_steps = 20;
  SickObjective objective({2, 3, 4, 5, 6});
  Loop loop(plain, objective);
  EXPECT_THROW(loop.trainer.run(), Error);
  EXPECT_EQ(loop.reports.rbegin()->first, 5);
}

TEST_F(Training, AWeightThatIsCutOffStopsTheFirstStep) {
  class Silent : public SickObjective {
   public:
    Silent() : SickObjective({}) {}
    LossTerms accumulate_gradients(Transformer&, const Batch&, const std::map<std::string, double>&,
                                   uint64_t) override {
      return {{"ar", {1.0, 1.0}}};
    }
  } objective;
  Loop loop(config("out"), objective);
  EXPECT_THROW(loop.trainer.run(), Error);
}

using TrainingDeathTest = Training;

TEST_F(TrainingDeathTest, CtrlCFinishesTheStepAndSaves) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        install_interrupt_handler();
        TrainConfig plain = config("out");
        plain.gradient_accumulation = 1;
        plain.save_every = 100;
        SickObjective objective({});
        objective.interrupt_at = 4;  // during step 3
        Loop loop(plain, objective);
        try {
          loop.trainer.run();
        } catch (const Interrupted&) {  // this process has a folder of its own
          const bool saved = loop.checkpoints.newest() == folder_ / "out" / "step-00000003";
          std::filesystem::remove_all(folder_.path());
          std::_Exit(saved ? 130 : 1);
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace predgen

#include "train/trainer.h"

#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "tests/fakes/layer_specs.h"
#include "tests/train/training.h"
#include "train/objectives/autoregressive_objective.h"

namespace predgen::train {
namespace {

/// Gives gradients that are no good in some steps.
class SickObjective : public AutoregressiveObjective {
 public:
  explicit SickObjective(std::set<int64_t> sick_calls)
      : AutoregressiveObjective(0.0), sick_calls_(std::move(sick_calls)) {}
  PackedBatch pack(const Batch& batch, uint64_t step_seed) const override {
    PackedBatch packed = AutoregressiveObjective::pack(batch, step_seed);
    if (batch.empty()) return packed;  // only asks for the terms
    if (sick_calls_.contains(num_calls_++)) {
      packed.terms.at("ar").weight = sick_value;
    }
    if (stop_at == num_calls_) stop.request_stop();
    return packed;
  }

  double sick_value = std::numeric_limits<double>::quiet_NaN();
  int64_t stop_at = -1;
  mutable std::stop_source stop;

 private:
  std::set<int64_t> sick_calls_;
  mutable int64_t num_calls_ = 0;  // the trial of the longest batch is call 0
};

struct Loop : SingleProcessCommunicator, TrainingLoop {
  Loop(TrainConfig given, Objective& objective, const std::stop_token& stop = {})
      : TrainingLoop(std::move(given), objective, *this, stop) {}
};

TEST(TrainedWeights, WhatTransformersDoesNotTrainStays) {
  ModelConfig config = gemma4_config();
  for (LayerSpec& layer : config.layers) layer.experts.score_bias = true;
  const auto model = Transformer::initialize(config, 1, at::kFloat);
  TrainConfig train;
  train.mode = TrainMode::kFull;
  std::set<std::string> trained;
  for (const Parameter& each : TrainedWeights(*model, train).parameters())
    trained.insert(each.name);
  size_t num_left = 0;
  for (const auto& [name, tensor] : model->named_weights()) {
    const bool is_buffer = name.ends_with("layer_scalar") || name.ends_with("expert_bias");
    EXPECT_EQ(trained.contains(name), !is_buffer) << name;
    EXPECT_EQ(tensor.requires_grad(), !is_buffer) << name;
    num_left += is_buffer ? 1 : 0;
  }
  EXPECT_EQ(num_left, 2 * config.layers.size());
}

TEST_F(Training, SkipsStepsWithoutFiniteGradients) {
  TrainConfig plain = config("out");
  plain.global_batch = plain.batch_size;
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
  plain.global_batch = plain.batch_size;
  plain.max_steps = 20;
  SickObjective objective({2, 3, 4, 5, 6});
  Loop loop(plain, objective);
  EXPECT_THROW(loop.trainer.run(), Error);
  EXPECT_EQ(loop.reports.rbegin()->first, 5);
}

TEST_F(Training, SkipsOutliersIfAskedTo) {
  const auto run_with = [&](double outlier_factor) {
    TrainConfig plain = config(fmt::format("out-{}", outlier_factor));
    plain.global_batch = plain.batch_size;
    plain.max_steps = 40;
    plain.outlier_factor = outlier_factor;
    SickObjective objective({5, 36});  // in step 5 it is not known yet what is usual
    objective.sick_value = 100.0;
    Loop loop(plain, objective);
    loop.trainer.run();
    return loop.reports;
  };
  const auto reports = run_with(10.0);
  EXPECT_EQ(reports.at(35).at("train/outlier_steps"), 0.0);
  EXPECT_EQ(reports.at(36).at("train/outlier_steps"), 1.0);
  EXPECT_EQ(reports.at(40).at("train/outlier_steps"), 1.0);
  EXPECT_EQ(reports.at(40).at("train/skipped_steps"), 1.0);
  EXPECT_EQ(run_with(0.0).at(40).at("train/skipped_steps"), 0.0);
  EXPECT_EQ(run_with(1000.0).at(40).at("train/skipped_steps"), 0.0);
}

TEST_F(Training, GradientsThatStayHighAreNoOutliers) {
  TrainConfig plain = config("out");
  plain.global_batch = plain.batch_size;
  plain.max_steps = 60;
  plain.outlier_factor = 10.0;
  SickObjective objective({36, 37, 38, 39, 40, 41, 42});
  objective.sick_value = 100.0;
  Loop loop(plain, objective);
  EXPECT_THAT([&] { loop.trainer.run(); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("times the usual")));
  EXPECT_EQ(loop.reports.rbegin()->first, 39);  // the fifth one ends the run
}

TEST_F(Training, WhatIsUsualIsKnownAfterAResume) {
  TrainConfig plain = config("out");
  plain.max_steps = 40;
  plain.stop_at_step = 38;
  EXPECT_THROW(run(plain), Interrupted);
  plain.stop_at_step = 0;
  plain.outlier_factor = 2.0;  // may be set when a run is resumed
  const auto state_file = folder_ / "out" / "step-00000038" / "state.json";
  Json state = Json::parse(read_file(state_file));
  EXPECT_EQ(state.at("gradient_norms").size(), 38u);
  for (Json& norm : state.at("gradient_norms")) norm = 1e-9;
  write_file(state_file, state.dump());
  run(plain, "auto");
  const Json last = Json::parse(losses("out").back());
  EXPECT_EQ(last.at("train/outlier_steps"), 2.0);  // steps 39 and 40
}

TEST_F(Training, SaysHowMuchMemoryItTook) {
  TrainConfig plain = config("out");
  plain.global_batch = plain.batch_size;
  SickObjective objective({});
  Loop loop(plain, objective);
  loop.trainer.run();
  const double gib = loop.reports.at(6).at("memory/process_gib");
  EXPECT_GT(gib, 0.01);
  EXPECT_LT(gib, 100.0);
  EXPECT_FALSE(loop.reports.at(6).contains("memory/gpu_gib"));
}

TEST_F(Training, AWeightThatIsCutOffStopsTheFirstStep) {
  class Silent : public AutoregressiveObjective {
   public:
    Silent() : AutoregressiveObjective(0.0) {}
    PackedBatch pack(const Batch& batch, uint64_t step_seed) const override {
      PackedBatch packed = AutoregressiveObjective::pack(batch, step_seed);
      packed.terms.at("ar").weight = 0.0;
      return packed;
    }
  } objective;
  Loop loop(config("out"), objective);
  EXPECT_THROW(loop.trainer.run(), Error);
}

TEST_F(Training, AStopFinishesTheStepAndSaves) {
  TrainConfig plain = config("out");
  plain.global_batch = plain.batch_size;
  plain.save_every = 100;
  SickObjective objective({});
  objective.stop_at = 4;  // during step 3
  Loop loop(plain, objective, objective.stop.get_token());
  EXPECT_THROW(loop.trainer.run(), Interrupted);
  EXPECT_EQ(loop.checkpoints.newest(), folder_ / "out" / "step-00000003");
}

TEST_F(Training, AStopInTheLastStepChangesNothing) {
  TrainConfig plain = config("out");
  plain.global_batch = plain.batch_size;
  SickObjective objective({});
  objective.stop_at = 7;  // during step 6
  Loop loop(plain, objective, objective.stop.get_token());
  EXPECT_NO_THROW(loop.trainer.run());
  EXPECT_EQ(loop.num_milestones, 3);  // the checkpoints
  EXPECT_EQ(loop.checkpoints.newest(), folder_ / "out" / "step-00000006");
}

}  // namespace
}  // namespace predgen::train

#include "train/trainer.h"

#include <limits>
#include <set>

#include "tests/train/training.h"
#include "train/objectives/autoregressive_objective.h"

namespace predgen {
namespace {

/// Gives gradients that are not finite in some steps.
class SickObjective : public AutoregressiveObjective {
 public:
  explicit SickObjective(std::set<int64_t> sick_calls)
      : AutoregressiveObjective(0.0), sick_calls_(std::move(sick_calls)) {}
  PackedBatch pack(const Batch& batch, uint64_t step_seed) const override {
    PackedBatch packed = AutoregressiveObjective::pack(batch, step_seed);
    if (batch.empty()) return packed;  // only asks for the terms
    if (sick_calls_.contains(num_calls_++)) {
      packed.terms.at("ar").weight = std::numeric_limits<double>::quiet_NaN();
    }
    if (stop_at == num_calls_) stop.request_stop();
    return packed;
  }

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
  EXPECT_EQ(loop.checkpoints.newest(), folder_ / "out" / "step-00000006");
}

}  // namespace
}  // namespace predgen

#include "train/trainer.h"

#include <limits>
#include <set>

#include "tests/train/training.h"

namespace predgen {
namespace {

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
    if (stop_at == num_calls_) stop.request_stop();
    return {{"ar", {1.0, 1.0}}};
  }
  LossTerms evaluate(const Transformer&, const Batch&) const override { return {}; }

  int64_t stop_at = -1;
  std::stop_source stop;

 private:
  std::set<int64_t> sick_calls_;
  int64_t num_calls_ = 0;  // the trial of the longest batch is call 0
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

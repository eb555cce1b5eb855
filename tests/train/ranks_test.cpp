// What more than one rank must keep to: the same steps as one rank, one end, one writer.
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <cmath>
#include <mutex>
#include <set>

#include "tensors/safetensors.h"
#include "tests/fakes/run_ranks.h"
#include "tests/train/training.h"
#include "train/objectives/autoregressive_objective.h"
#include "train/trainer.h"

namespace predgen::train {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

class Ranks : public Training {
 protected:
  static constexpr int kMicroBatches = 6;  // of a step

  TrainConfig config_of(const std::string& output, int num_micro_batches = kMicroBatches) const {
    TrainConfig result = config(output);
    result.global_batch = num_micro_batches * result.batch_size;
    result.max_steps = 4;
    result.learning_rate = 1e-3;
    result.optimizer.eps = 1e-4;  // a gradient that is 0 but for rounding moves nothing
    return result;
  }

  static std::vector<std::string> run_on(int world_size, const TrainConfig& config,
                                         const std::string& resume = "none") {
    return run_ranks(world_size,
                     [&](Communicator& communicator) { train(config, resume, communicator, {}); });
  }

  void expect_same_run(const std::string& output, const std::string& expected_output) const {
    const SafetensorsFile found(weights_file(output)), expected(weights_file(expected_output));
    for (const auto& [name, entry] : expected.entries()) {
      const at::Tensor difference = found.tensor(name) - expected.tensor(name);
      EXPECT_LE(difference.abs().max().item<double>(), 1e-6) << name;
    }
    const std::vector<std::string> lines = losses(output), expected_lines = losses(expected_output);
    ASSERT_EQ(lines.size(), expected_lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      const Json line = Json::parse(lines[i]), expected_line = Json::parse(expected_lines[i]);
      for (const auto& [name, value] : expected_line.items()) {
        const double expected_value = value, found_value = line.at(name);
        EXPECT_NEAR(found_value, expected_value, 1e-6 * std::max(1.0, expected_value))
            << name << " in line " << i;
      }
    }
  }
};

TEST_F(Ranks, TakeTheStepsOfOneRank) {
  const auto expect_same_steps = [&](ObjectiveKind kind, int num_micro_batches) {
    const auto name = [&](int world_size) {
      return fmt::format("{}-{}-{}", int(kind), num_micro_batches, world_size);
    };
    for (const int world_size : {1, 2, 3}) {
      TrainConfig config = config_of(name(world_size), num_micro_batches);
      config.objective.kind = kind;
      config.held_out = folder_ / "data";
      config.eval_every = 2;
      EXPECT_THAT(run_on(world_size, config), Each(IsEmpty()));
    }
    EXPECT_EQ(losses(name(1)).size(), 4u + 2u);  // steps, and held-out losses
    for (const int world_size : {2, 3}) expect_same_run(name(world_size), name(1));
    // That they are alike says something: the steps moved the weights.
    const SafetensorsFile last(weights_file(name(1)));
    const SafetensorsFile earlier(folder_ / name(1) / "step-00000002" / "model.safetensors");
    const char* weight = "model.layers.0.mlp.up_proj.weight";
    EXPECT_GT((last.tensor(weight) - earlier.tensor(weight)).abs().max().item<double>(), 1e-4);
  };
  expect_same_steps(ObjectiveKind::kCllm, kMicroBatches);
  expect_same_steps(ObjectiveKind::kAutoregressive, 5);  // some ranks have one less
  expect_same_steps(ObjectiveKind::kCllm, 2);            // a third rank has none
}

TEST_F(Ranks, ResumeWhatAnotherNumberOfRanksBegan) {
  const auto longer = [&](const std::string& output, int64_t stop_at_step) {
    TrainConfig result = config_of(output);
    result.max_steps = 8;
    result.stop_at_step = stop_at_step;
    return result;
  };
  EXPECT_THAT(run_on(1, longer("whole", 0)), Each(IsEmpty()));
  // Rank 0 alone reads the checkpoint; the others go on with what it gives them, moments included.
  EXPECT_THAT(run_on(1, longer("parts", 2)), Each("interrupted"));
  EXPECT_THAT(run_on(3, longer("parts", 5), "auto"), Each("interrupted"));
  EXPECT_THAT(run_on(2, longer("parts", 0), "auto"), Each(IsEmpty()));
  expect_same_run("parts", "whole");
}

TEST_F(Ranks, RefuseToResumeWithAnotherGlobalBatch) {
  EXPECT_THAT(run_on(1, config_of("out")), Each(IsEmpty()));
  TrainConfig other = config_of("out");
  other.global_batch *= 2;
  const std::vector<std::string> errors = run_on(2, other, "auto");
  EXPECT_THAT(errors[0], HasSubstr("global_batch: 12 there, 24 now"));
  EXPECT_THAT(errors[1], HasSubstr("rank 0 has ended or failed"));
}

TEST_F(Ranks, OnlyRankZeroWrites) {
  const std::vector<std::string> errors = run_ranks(3, [&](Communicator& communicator) {
    TrainConfig config = config_of(fmt::format("out-{}", communicator.rank()));
    config.held_out = folder_ / "data";
    train(config, "none", communicator, {});
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  for (const char* name :
       {"config.yaml", "metrics.jsonl", "tensorboard", "step-00000004", "final"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out-0" / name)) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out-1"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out-2"));
}

/// Calls `watch` with every batch that the loop trains on.
class WatchedObjective : public AutoregressiveObjective {
 public:
  WatchedObjective() : AutoregressiveObjective(0.0) {}
  PackedBatch pack(const Batch& batch, uint64_t step_seed) const override {
    // The first one tries the longest batch; an empty one only asks for the terms.
    if (!batch.empty() && num_calls_++ > 0) watch(batch);
    return AutoregressiveObjective::pack(batch, step_seed);
  }
  std::function<void(const Batch&)> watch = [](const Batch&) {};

 private:
  mutable int64_t num_calls_ = 0;
};

struct Rank {
  Rank(TrainConfig config, Communicator& communicator, const TrainState& state = {})
      : loop(std::move(config), objective, communicator, stop.get_token(), state) {}
  WatchedObjective objective;
  std::stop_source stop;
  TrainingLoop loop;
};

TEST_F(Ranks, StopTogetherWhenOneOfThemIsAskedTo) {
  for (const int asked : {0, 1, 2}) {
    const std::string output = fmt::format("stopped-{}", asked);
    const std::vector<std::string> errors = run_ranks(3, [&](Communicator& communicator) {
      TrainConfig config = config_of(output);
      config.max_steps = 100;
      config.save_every = 100;
      Rank rank(config, communicator);
      int64_t num_batches = 0;
      rank.objective.watch = [&](const Batch&) {
        if (++num_batches == 6 && communicator.rank() == asked) rank.stop.request_stop();
      };
      EXPECT_THROW(rank.loop.trainer.run(), Interrupted) << "rank " << communicator.rank();
      EXPECT_EQ(num_batches, 6);  // three steps of two
      EXPECT_EQ(rank.loop.reports.size(), communicator.is_main() ? 3u : 0u);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    EXPECT_EQ(CheckpointStore(folder_ / output, {}, 2).newest(),
              folder_ / output / "step-00000003");
  }
}

TEST_F(Ranks, BeginWithTheWeightsOfRankZero) {
  std::mutex mutex;
  std::vector<std::map<std::string, at::Tensor>> found(3);
  const auto run_from = [&](const std::string& output, bool alike) {
    const std::vector<std::string> errors = run_ranks(3, [&](Communicator& communicator) {
      Rank rank(config_of(output), communicator);
      if (!alike && !communicator.is_main()) {
        const at::NoGradGuard no_grad;
        for (const Parameter& parameter : rank.loop.weights.parameters())
          parameter.tensor.add_(1.0);
      }
      rank.loop.trainer.run();
      const std::lock_guard lock(mutex);
      found[static_cast<size_t>(communicator.rank())] = rank.loop.model->named_weights();
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    return found;
  };
  const auto alike = run_from("alike", true), unlike = run_from("unlike", false);
  for (const auto& [name, expected] : alike[0]) {
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(alike[rank].at(name).equal(expected)) << name << " of rank " << rank;
      EXPECT_TRUE(unlike[rank].at(name).equal(expected)) << name << " of rank " << rank;
    }
  }
}

TEST_F(Ranks, SkipTheSameOutliers) {
  for (const double usual : {1e-9, 1e9}) {
    const bool skipped = usual < 1;
    const std::vector<std::string> errors = run_ranks(3, [&](Communicator& communicator) {
      TrainConfig config = config_of(fmt::format("usual-{}", usual));
      config.outlier_factor = 2.0;
      // Rank 0 alone has read from the checkpoint what norms are usual.
      TrainState state;
      if (communicator.is_main()) state.norms = GradientNorms(std::vector<double>(40, usual));
      Rank rank(config, communicator, state);
      const auto weight = [&] { return rank.loop.weights.parameters().front().tensor.clone(); };
      const at::Tensor before = weight();
      rank.loop.trainer.run();
      EXPECT_EQ(weight().equal(before), skipped) << "rank " << communicator.rank();
      if (communicator.is_main()) {
        EXPECT_EQ(rank.loop.reports.at(4).at("train/outlier_steps"), skipped ? 4.0 : 0.0);
      }
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST_F(Ranks, AFailureOfOneEndsAllOfThem) {
  const std::vector<std::string> errors = run_ranks(3, [&](Communicator& communicator) {
    Rank rank(config_of("out"), communicator);
    int64_t num_batches = 0;
    rank.objective.watch = [&](const Batch&) {
      if (++num_batches == 3 && communicator.rank() == 2) throw Error("out of memory");
    };
    rank.loop.trainer.run();
  });
  EXPECT_EQ(errors[2], "out of memory");
  EXPECT_THAT(errors[0], HasSubstr("rank 2 has ended or failed"));
  EXPECT_THAT(errors[1], HasSubstr("rank 2 has ended or failed"));
}

/// One of several ranks, alone: nobody else is there to add anything.
class LonelyRank : public SingleProcessCommunicator {
 public:
  LonelyRank(int rank, int world_size) : rank_(rank), world_size_(world_size) {}
  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

 private:
  const int rank_, world_size_;
};

TEST_F(Ranks, ShareTheMicroBatchesOfOneRank) {
  const auto micro_batches = [&](int rank, int world_size) {
    LonelyRank communicator(rank, world_size);
    Rank lonely(config_of(fmt::format("alone-{}-{}", rank, world_size)), communicator);
    std::vector<std::string> found;
    lonely.objective.watch = [&](const Batch& batch) {
      std::string text;
      for (const data::Record& record : batch) text += record.conversation_id + " ";
      found.push_back(text);
    };
    lonely.loop.trainer.run();
    return found;
  };
  const std::vector<std::string> whole = micro_batches(0, 1);
  ASSERT_EQ(whole.size(), 4u * kMicroBatches);
  EXPECT_EQ(std::set<std::string>(whole.begin(), whole.end()).size(), whole.size());
  for (const int world_size : {2, 3}) {
    for (int rank = 0; rank < world_size; ++rank) {
      std::vector<std::string> expected;
      for (size_t i = static_cast<size_t>(rank); i < whole.size();
           i += static_cast<size_t>(world_size)) {
        expected.push_back(whole[i]);
      }
      EXPECT_EQ(micro_batches(rank, world_size), expected) << "rank " << rank;
    }
  }
}

}  // namespace
}  // namespace predgen::train

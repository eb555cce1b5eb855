#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/run_ranks.h"
#include "tests/train/plan/seven_billion.h"
#include "train/plan/memory_plan.h"

namespace predgen::train {
namespace {

TEST(MemoryAdvice, KnobsAreTurnedUntilItFits) {
  TrainConfig config = one_card();
  config.batch_size = config.global_batch = 4;
  config.num_recomputed = 0;
  const auto settings = [&](int64_t limit) {
    std::vector<std::string> names;
    int64_t last = peak(config);
    for (const MemoryKnob& knob : memory_knobs(qwen_7b(), config, kCard, limit)) {
      EXPECT_LE(knob.peak_bytes, last) << knob.setting;
      last = knob.peak_bytes;
      names.push_back(knob.setting);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(settings(30 * kGiB), Names{"recompute: all"});
  EXPECT_EQ(settings(18 * kGiB), (Names{"recompute: all", "batch_size: 2", "batch_size: 1"}));
  EXPECT_EQ(settings(12 * kGiB),
            (Names{"recompute: all", "batch_size: 2", "batch_size: 1", "base.weights: nf4"}));
  EXPECT_EQ(settings(0).size(), 6U);
  const std::string advice = memory_advice(qwen_7b(), config, kCard, 12 * kGiB);
  EXPECT_TRUE(advice.find("; `recompute: all` takes ") != std::string::npos) << advice;
  EXPECT_TRUE(advice.find(", then `batch_size: 2` takes ") != std::string::npos) << advice;
  EXPECT_TRUE(advice.find("shorter") == std::string::npos) << advice;
}

TEST(MemoryAdvice, OffersNothingThatIsRefused) {
  TrainConfig config = one_card();
  config.batch_size = config.global_batch = 4;
  config.num_recomputed = 0;
  config.compute = Compute::kFloat32;
  for (const MemoryKnob& knob : memory_knobs(gemma4_config(), config, kCard, 0)) {
    const bool is_taken = knob.setting.starts_with("batch_size") || knob.setting == "compute: bf16";
    EXPECT_TRUE(is_taken) << knob.setting;
  }
}

TEST(RecomputeChoice, AutoRecomputesNoMoreThanItMust) {
  TrainConfig config = one_card();
  const auto peak_of = [&](int64_t count) {
    config.num_recomputed = count;
    return peak(config);
  };
  for (const int64_t count : {0, 1, 13, 28}) {
    EXPECT_EQ(layers_to_recompute(qwen_7b(), config, kCard, peak_of(count)), count);
  }
  EXPECT_EQ(layers_to_recompute(qwen_7b(), config, kCard, 0), 28);
  config.base.offload = true;  // whose layers are all run again
  EXPECT_EQ(layers_to_recompute(qwen_7b(), config, kCard, 100 * kGiB), 28);
}

TEST(RecomputeChoice, LayersThatReadWhatOthersMadeAreNotRunTwice) {
  const ModelConfig gemma = gemma4_config();
  TrainConfig config = one_card();
  expect_user_error([&] { check_recomputed(gemma, config); }, {"recompute", "none"});
  config.num_recomputed = kAutoLayers;
  check_recomputed(gemma, config);
  EXPECT_EQ(layers_to_recompute(gemma, config, kCard, 0), 0);
  config.base.weights = BaseWeights::kNf4;
  expect_user_error([&] { check_recomputed(gemma, config); }, {"base.weights"});
  check_recomputed(qwen_7b(), config);
}

/// What each rank chooses that has so many bytes.
std::vector<int64_t> choices(const TrainConfig& config, const std::vector<int64_t>& memory) {
  std::vector<int64_t> found(memory.size());
  const auto errors = run_ranks(static_cast<int>(memory.size()), [&](Communicator& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    found[rank] = choose_recomputed(qwen_7b(), config, kCard, memory[rank], communicator);
  });
  EXPECT_THAT(errors, testing::Each(testing::IsEmpty()));
  return found;
}

TEST(RecomputeChoice, RanksWithUnlikeMemoryChooseAlike) {
  TrainConfig config = one_card();
  config.num_recomputed = kAutoLayers;
  const auto need = [&](int64_t memory) {
    return layers_to_recompute(qwen_7b(), config, kCard, usable(memory));
  };
  ASSERT_LT(need(48 * kGiB), need(24 * kGiB));
  ASSERT_LT(need(24 * kGiB), need(20 * kGiB));
  EXPECT_THAT(choices(config, {48 * kGiB, 20 * kGiB, 24 * kGiB}), testing::Each(need(20 * kGiB)));
  EXPECT_THAT(choices(config, {48 * kGiB}), testing::Each(need(48 * kGiB)));
  config.num_recomputed = 5;  // said, not to be chosen
  EXPECT_THAT(choices(config, {48 * kGiB, 20 * kGiB}), testing::Each(5));
}

}  // namespace
}  // namespace predgen::train

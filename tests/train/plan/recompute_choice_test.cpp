#include "train/plan/recompute_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/run_ranks.h"
#include "tests/train/plan/seven_billion.h"
#include "train/plan/memory_advice.h"

namespace predgen::train {
namespace {

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

#include "train/plan/memory_advice.h"

#include <gtest/gtest.h>

#include "tests/fakes/layer_specs.h"
#include "tests/train/plan/seven_billion.h"

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

}  // namespace
}  // namespace predgen::train

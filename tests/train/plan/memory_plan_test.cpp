#include "train/plan/memory_plan.h"

#include <ATen/ThreadLocalState.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/dataset_store.h"
#include "tests/fakes/layer_specs.h"
#include "tests/fakes/small_models.h"
#include "tests/train/plan/seven_billion.h"
#include "train/base/frozen_layers.h"
#include "train/distributed/communicator.h"
#include "train/objectives/autoregressive_objective.h"
#include "train/objectives/consistency_objective.h"
#include "train/objectives/gradients.h"
#include "train/trained_weights.h"

namespace predgen::train {
namespace {

/// Bytes of tensors that the thread has taken and not given back since it began to count.
class CountedBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t bytes, size_t, size_t, c10::Device) override {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak() const { return peak_; }

 private:
  int64_t now_ = 0, peak_ = 0;
};

/// Wide enough that its tensors outweigh those of a few numbers.
ModelConfig wide_config() {
  ModelConfig config = small_config();
  config.vocab_size = 1000;
  config.hidden_size = 128;
  config.intermediate_size = 384;
  config.layers.resize(4, config.layers.front());
  config.num_heads = 8;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  config.max_positions = 1024;
  return config;
}

data::Record long_record() {
  data::Record record;
  record.conversation_id = "c";
  constexpr size_t kSize = 320, kPrompt = 192, kBlock = 64;
  for (size_t i = 0; i < kSize; ++i) record.tokens.push_back(static_cast<TokenId>(i * 7 % 900));
  record.loss_mask.assign(kSize, 0);
  std::fill(record.loss_mask.begin() + kPrompt, record.loss_mask.end(), uint8_t{1});
  record.prompt_length = kPrompt;
  for (size_t begin = kPrompt; begin < kSize; begin += kBlock) {
    const auto first = record.tokens.begin() + static_cast<int64_t>(begin);
    const TokenIds fixed_point(first, first + kBlock);
    record.blocks.push_back({{TokenIds(kBlock, 5), fixed_point}});
  }
  return record;
}

/// The same with heads of two sizes, shared keys and inputs by layer, as Gemma 4 has them.
ModelConfig gemma_config() {
  ModelConfig config = wide_config();
  const ModelConfig small = gemma4_config();
  config.layers = small.layers;
  for (LayerSpec& layer : config.layers) {
    layer.experts = {};
    layer.feed_forward.width = 0;
    if (layer.attention.head_dim > 0) layer.attention.head_dim = 64;
  }
  config.ropes = small.ropes;
  config.ropes.front().own_head_dim = 64;
  config.layer_input_width = 64;
  return config;
}

struct Counted {
  const char* name;
  TrainMode mode;
  at::ScalarType weights;  // of the base; activations are float32
  int64_t num_recomputed;
  bool consistency;
  double dropout = 0.0;
  BaseWeights base = BaseWeights::kFull;
  bool gemma = false;
};

class CountedPlan : public testing::TestWithParam<Counted> {};
INSTANTIATE_TEST_SUITE_P(
    , CountedPlan,
    testing::Values(
        Counted{"lora", TrainMode::kLora, at::kFloat, 0, false},
        Counted{"narrow", TrainMode::kLora, at::kBFloat16, 0, false},
        Counted{"narrow_recomputed", TrainMode::kLora, at::kBFloat16, 4, false},
        Counted{"some_recomputed", TrainMode::kLora, at::kFloat, 2, false},
        Counted{"consistency", TrainMode::kLora, at::kFloat, 0, true},
        Counted{"consistency_recomputed", TrainMode::kLora, at::kFloat, 4, true},
        Counted{"dropout", TrainMode::kLora, at::kFloat, 0, false, 0.1},
        Counted{"int8", TrainMode::kLora, at::kBFloat16, 4, false, 0.0, BaseWeights::kInt8},
        Counted{"nf4", TrainMode::kLora, at::kBFloat16, 4, true, 0.0, BaseWeights::kNf4},
        Counted{"gemma", TrainMode::kLora, at::kFloat, 0, false, 0.0, BaseWeights::kFull, true},
        Counted{"gemma_narrow", TrainMode::kLora, at::kBFloat16, 0, false, 0.0, BaseWeights::kFull,
                true},
        Counted{"gemma_whole", TrainMode::kFull, at::kFloat, 0, false, 0.0, BaseWeights::kFull,
                true},
        Counted{"whole", TrainMode::kFull, at::kFloat, 0, false},
        Counted{"whole_recomputed", TrainMode::kFull, at::kFloat, 4, false}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(CountedPlan, IsWhatTensorsTake) {
  const Counted& given = GetParam();
  TrainConfig config;
  config.mode = given.mode;
  config.lora.rank = 4;
  config.lora.dropout = given.dropout;
  config.base.weights = given.base;
  config.batch_size = 3;
  config.num_recomputed = given.num_recomputed;
  config.compute = given.weights == at::kBFloat16 ? Compute::kBFloat16 : Compute::kFloat32;
  config.objective.kind = given.consistency ? ObjectiveKind::kCllm : ObjectiveKind::kAutoregressive;
  config.objective.consistency.stop_tokens = {999};

  const ModelConfig sizes = given.gemma ? gemma_config() : wide_config();
  const auto model = Transformer::initialize(sizes, 3, given.weights);
  model->set_activations(at::kFloat);
  const TrainedWeights weights(*model, config);
  const AdamW optimizer(weights.parameters(), {});
  model->set_num_recomputed(given.num_recomputed);
  SingleProcessCommunicator communicator;
  if (!config.base.is_resident()) {
    model->set_layer_store(std::make_shared<FrozenLayers>(*model, config.base, communicator));
  }
  model->set_training(true);
  const std::unique_ptr<Objective> objective = make_objective(config.objective);
  const PackedBatch packed = objective->pack(Batch(3, long_record()), 1);
  const uint64_t dropout_seed = 7;

  const auto counted = std::make_shared<CountedBytes>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counted);
    accumulate_gradients(*model, {&packed, 1}, counts_of(packed), {&dropout_seed, 1});
  }

  PlanCase plan_case{.bfloat16_products = false};
  for (const TokenIds& row : packed.rows) {
    plan_case.row_tokens = std::max(plan_case.row_tokens, static_cast<int64_t>(row.size()));
  }
  for (const auto& [name, term] : packed.terms) {
    plan_case.taught_tokens =
        std::max(plan_case.taught_tokens, static_cast<int64_t>(term.students.size()) / 3);
  }
  plan_case.noisy_tokens = plan_case.taught_tokens;
  plan_case.has_segments = given.consistency;
  const MemoryPlan plan(sizes, config, plan_case);
  const int64_t planned = plan.step_bytes();
  const double ratio = static_cast<double>(planned) / static_cast<double>(counted->peak());
  EXPECT_GE(ratio, 0.95) << planned << " planned, " << counted->peak() << " counted";
  EXPECT_LE(ratio, 1.1) << planned << " planned, " << counted->peak();
}

TEST(MemoryPlan, SevenBillionOnOneCard) {
  TrainConfig config = one_card();
  EXPECT_LT(peak(config), 19 * kGiB);
  EXPECT_GT(peak(config), 15 * kGiB);
  config.base.weights = BaseWeights::kNf4;
  EXPECT_LT(peak(config), 11 * kGiB);
  EXPECT_GT(peak(config), 6 * kGiB);
}

TEST(MemoryPlan, RecomputedLayersKeepAQuarterOfAMegabyteAToken) {
  PlanCase causal = kCard;
  causal.has_segments = false;
  const MemoryPlan plan(qwen_7b(), one_card(), causal);
  EXPECT_LE(plan.kept_bytes() / causal.row_tokens, 250'000);
  // Each layer's input in bfloat16, at least.
  EXPECT_GE(plan.kept_bytes() / causal.row_tokens, int64_t{28} * 3584 * 2);
}

TEST(MemoryPlan, KeepsAReserveForWhatAnAllocatorLoses) {
  for (const int64_t count : {int64_t{0}, kAllLayers}) {
    TrainConfig config = one_card();
    config.num_recomputed = count;
    const MemoryPlan plan(qwen_7b(), config, kCard);
    const double share =
        static_cast<double>(plan.lost_bytes()) / static_cast<double>(plan.step_bytes());
    EXPECT_GE(share, 0.05);
    EXPECT_LE(share, 0.1);
  }
}

TEST(MemoryPlan, RanksHaveTheirPartOfAShardedBase) {
  TrainConfig config = one_card();
  config.base.shard = true;
  PlanCase four = kCard;
  four.world_size = 4;
  const int64_t whole = peak(one_card()), part = peak(config, four);
  EXPECT_LT(part, whole - 7 * kGiB);
  config.base.offload = true;
  const MemoryPlan offloaded(qwen_7b(), config, four);
  EXPECT_LT(offloaded.peak_bytes(), part - 2 * kGiB);
  EXPECT_NEAR(static_cast<double>(offloaded.host_bytes()) / (6.53e9 * 2 / 4), 1.0, 0.01);
}

}  // namespace
}  // namespace predgen::train

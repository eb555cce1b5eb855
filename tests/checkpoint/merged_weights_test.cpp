#include "checkpoint/merged_weights.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "checkpoint/load_model.h"
#include "checkpoint/save_model.h"
#include "core/files.h"
#include "core/json.h"
#include "model/weights/weight_files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr const char* kMerged = "model.layers.1.mlp.down_proj.weight";

class MergedWeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    const at::NoGradGuard no_grad;
    auto model = small_model();
    save_model(*model, base_.path(), {}, "fp32");
    LoraConfig config;
    config.rank = 3;
    config.alpha = 7;
    config.target_modules = {"q_proj", "down_proj"};
    attach_lora(*model, config, 5);
    for (const auto& [name, tensor] : named_adapter_weights(*model)) tensor.uniform_(-0.3, 0.3);
    save_adapter(*model, config, adapter_.path());
    down_ = *model->linears().back();
  }

  /// Writes the merge as `dtype`, with `change` applied to every block.
  void write(
      const MergedWeights& merged, at::ScalarType dtype,
      const std::function<at::Tensor(const std::string&, at::Tensor)>& change =
          [](const std::string&, at::Tensor rows) { return rows; }) {
    const auto rows = [&](const std::string& name, int64_t begin, int64_t end) {
      return change(name, merged.rows(name, begin, end)).to(dtype);
    };
    write_sharded_weights(output_.path(), weight_layout(merged.config()), dtype, rows);
    save_model_files(output_.path(), merged.config(), open_checkpoint(base_.path()).get(),
                     dtype == at::kFloat ? "fp32" : "bf16", {});
  }

  TemporaryFolder base_, adapter_, output_;
  Linear down_;
};

TEST_F(MergedWeightsTest, AddsTheScaledProduct) {
  const at::NoGradGuard no_grad;
  const MergedWeights merged(*open_checkpoint(base_.path()), adapter_.path());
  const at::Tensor expected = down_.weight + at::matmul(down_.lora_B, down_.lora_A) * (7.0 / 3.0);
  EXPECT_TRUE(at::allclose(merged.rows(kMerged, 0, 32), expected, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(merged.rows(kMerged, 5, 9), expected.narrow(0, 5, 4), 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(expected, down_.weight, 0, 0.1)) << "the adapter must matter";
  const MergedWeights plain(*open_checkpoint(base_.path()), {});
  EXPECT_TRUE(at::equal(plain.rows(kMerged, 0, 32), down_.weight));
}

TEST_F(MergedWeightsTest, WhatCountsForMaskTokensAloneIsNotMerged) {
  Json json = read_json(adapter_ / "adapter_config.json");
  json["mask_tokens"] = {5};
  write_file(adapter_ / "adapter_config.json", json.dump());
  expect_user_error([&] { MergedWeights(*open_checkpoint(base_.path()), adapter_.path()); },
                    {adapter_.path().string(), "cannot be merged", "mask_tokens"});
}

TEST_F(MergedWeightsTest, ComparisonSeesEveryFault) {
  const MergedWeights merged(*open_checkpoint(base_.path()), adapter_.path());
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    write(merged, dtype);
    const auto comparison = merged.compare(ModelWeights(*open_checkpoint(output_.path())), dtype);
    EXPECT_EQ(comparison.num_tensors, static_cast<int64_t>(weight_layout(small_config()).size()));
    EXPECT_EQ(comparison.num_merged, 4);
    EXPECT_GT(comparison.max_difference, 0.0);
    EXPECT_LE(comparison.worst_rounding, 1.0);
    const auto expect_seen =
        [&](const std::string& part,
            const std::function<at::Tensor(const std::string&, at::Tensor)>& change) {
          write(merged, dtype, change);
          expect_user_error(
              [&] { merged.compare(ModelWeights(*open_checkpoint(output_.path())), dtype); },
              {part});
        };
    expect_seen(kMerged, [&](const std::string& name, at::Tensor rows) {
      return name == kMerged ? down_.weight.detach() : rows;  // without the adapter
    });
    expect_seen(kMerged, [&](const std::string& name, at::Tensor rows) {
      if (name == kMerged) rows[31][47] *= 1.01;  // one element
      return rows;
    });
    expect_seen("model.norm.weight", [&](const std::string& name, at::Tensor rows) {
      if (name == "model.norm.weight") rows[3] = NAN;
      return rows;
    });
  }
  write(merged, at::kFloat);
  expect_user_error(
      [&] { merged.compare(ModelWeights(*open_checkpoint(output_.path())), at::kBFloat16); },
      {"was written as"});
}

TEST_F(MergedWeightsTest, UnmergedModelComputesTheSame) {
  const at::NoGradGuard no_grad;
  const MergedWeights merged(*open_checkpoint(base_.path()), adapter_.path());
  write(merged, at::kFloat);
  const auto model =
      load_model(*open_checkpoint(output_.path()), {}, {.device = "cpu", .dtype = "fp32"});
  const auto unmerged = load_model(*open_checkpoint(base_.path()), adapter_.path(),
                                   {.device = "cpu", .dtype = "fp32"});
  const auto probe = [](const Transformer& probed) {
    return probed.logits(probed.hidden_states(at::arange(20, at::kLong).view({2, 10})));
  };
  EXPECT_LE((probe(*model) - probe(*unmerged)).abs().max().item<double>(), 1e-4);
}

TEST(ForEachBlock, CoversEveryRowOnce) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {}, {0}, {0, 4}, {7}, {3, 0}, {5, 1 << 19}, {3, 1 << 24}}) {
    int64_t next = 0, num_blocks = 0;
    for_each_block(shape, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(begin, next);
      EXPECT_LT(begin, end);
      next = end;
      ++num_blocks;
    });
    EXPECT_EQ(next, shape.empty() ? 1 : shape[0]);
    if (shape == std::vector<int64_t>{5, 1 << 19}) {
      EXPECT_EQ(num_blocks, 3);
    }
    if (shape == std::vector<int64_t>{3, 1 << 24}) {
      EXPECT_EQ(num_blocks, 3);
    }
  }
}

}  // namespace
}  // namespace predgen

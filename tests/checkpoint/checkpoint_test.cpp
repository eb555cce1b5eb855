#include "checkpoint/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "checkpoint/load_model.h"
#include "checkpoint/logit_check.h"
#include "checkpoint/save_model.h"
#include "core/files.h"
#include "model/weights/adapter.h"
#include "model/weights/lora.h"
#include "tests/fakes/environment_variable.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/small_models.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

const LoadOptions kCpu{.device = "cpu", .dtype = "fp32"};

/// A format that nobody's callers know.
MemoryCheckpoint checkpoint_of(const Transformer& model) {
  return {model.config(), model.named_weights()};
}

TEST(Checkpoint, AModelLoadsFromAnyFormat) {
  const auto model = small_model();
  EXPECT_TRUE(at::equal(probe(*load_model(checkpoint_of(*model), {}, kCpu)), probe(*model)));
  const auto packed =
      load_model(checkpoint_of(*model), {},
                 {.device = "cpu", .dtype = "fp32", .quantization = Quantization::kInt8});
  model->quantize(Quantization::kInt8);
  EXPECT_TRUE(at::equal(probe(*packed), probe(*model)));
}

TEST(Checkpoint, WhatDoesNotFitIsNamedInAnyFormat) {
  const auto model = small_model();
  std::map<std::string, at::Tensor> weights = model->named_weights();
  weights["model.norm.weight"] = at::ones({33});
  expect_user_error([&] { load_model(MemoryCheckpoint(model->config(), weights), {}, kCpu); },
                    {"in memory", "model.norm.weight", "[33]", "[32]"});
  weights.erase("model.norm.weight");
  expect_user_error([&] { load_model(MemoryCheckpoint(model->config(), weights), {}, kCpu); },
                    {"in memory", "model.norm.weight", "missing"});
}

TEST(Checkpoint, AnAdapterIsMergedIntoAnyFormat) {
  const auto base = small_model();
  const MemoryCheckpoint checkpoint = checkpoint_of(*base);
  const auto adapted = small_model();
  attach_lora(*adapted, {}, 1);
  for (Linear* linear : adapted->linears()) linear->lora_B.set_data(linear->lora_B + 0.1);
  const TemporaryFolder adapter, output;
  save_adapter(*adapted, LoraConfig(), adapter.path());
  EXPECT_TRUE(at::equal(probe(*load_model(checkpoint, adapter.path(), kCpu)), probe(*adapted)));

  const MergedWeights merged(checkpoint, adapter.path());
  std::map<std::string, at::Tensor> weights;
  for (const WeightSpec& weight : weight_layout(merged.config())) {
    weights[weight.name] = merged.rows(weight.name, 0, weight.shape[0]);
  }
  const ModelWeights stored(MemoryCheckpoint(merged.config(), weights));
  EXPECT_EQ(merged.compare(stored, at::kFloat).num_merged,
            static_cast<int64_t>(base->linears().size()));
  EXPECT_LT(compare_logits(merged, stored, at::kCPU, [] {}).max, 1e-3);
}

TEST(Checkpoint, AnyFormatIsSavedAsAHuggingFaceFolder) {
  const auto model = small_model();
  const MemoryCheckpoint source = checkpoint_of(*model);
  const TemporaryFolder folder;
  save_model(*load_model(source, {}, kCpu), folder.path(), &source, "fp32");
  EXPECT_EQ(read_json(folder / "config.json"), model->config().to_json());
  EXPECT_TRUE(
      at::equal(probe(*load_model(*open_checkpoint(folder.path()), {}, kCpu)), probe(*model)));
}

TEST(OpenCheckpoint, TakesNames) {
  const TemporaryFolder models;
  const EnvironmentVariable folder("PREDGEN_MODELS", models.path().c_str());
  make_folder(models / "tiny");
  EXPECT_EQ(open_checkpoint("tiny")->name(), (models / "tiny").string());
  write_file(models / "other", "x");
  expect_user_error([] { open_checkpoint("other"); },
                    {(models / "other").string(), "is not a model folder or GGUF file"});
  write_file(models / "model.safetensors", "x");
  expect_user_error([&] { open_checkpoint(models / "model.safetensors"); },
                    {"give the folder that it lies in"});
}

TEST(OpenCheckpoint, RefusesWhatIsNone) {
  const TemporaryFolder folder;
  write_file(folder / "model.xyz", "x");
  expect_user_error([&] { open_checkpoint(folder / "model.xyz"); },
                    {"model.xyz", "is not a model folder"});
  expect_user_error([&] { open_checkpoint(folder / "absent"); },
                    {"absent", "no such model folder"});
  expect_user_error([] { open_checkpoint(std::string(5000, 'x')); }, {"name too long"});
}

}  // namespace
}  // namespace predgen

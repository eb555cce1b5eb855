#include "train/train_config.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

std::string problems(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "train.yaml";
  write_file(file, yaml);
  try {
    TrainConfig::load(file, overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

const char* const kGood =
    "model: base\ndataset: data\noutput: out\nmax_steps: 5\nobjective:\n  kind: cllm\n";

TEST(TrainConfig, PresetsCanBeOverridden) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "train.yaml";
  write_file(file, kGood);
  EXPECT_EQ(TrainConfig::load(file, {}).objective.consistency.ar_weight, 10.0);
  const TrainConfig config = TrainConfig::load(
      file, {"objective.kind=jacobi_forcing", "objective.noise_window=8", "lora.rank=4"});
  EXPECT_EQ(config.objective.consistency.context, NoisyContext::kNoisy);
  EXPECT_EQ(config.objective.consistency.ar_weight, 1.0);
  EXPECT_EQ(config.objective.consistency.noise_window, 8);
  EXPECT_EQ(config.lora.rank, 4);
}

TEST(TrainConfig, NamesWhatIsWrong) {
  EXPECT_EQ(problems(kGood), "");
  EXPECT_THAT(problems(kGood, {"learnig_rate=1"}), testing::HasSubstr("learning_rate"));
  EXPECT_THAT(problems(kGood, {"epochs=2"}), testing::HasSubstr("not both"));
  EXPECT_THAT(problems(kGood, {"warmup_steps=2", "warmup_ratio=0.1"}),
              testing::HasSubstr("warmup_ratio"));
  EXPECT_THAT(problems(kGood, {"initialize=config.json"}), testing::HasSubstr("initialize"));
  EXPECT_THAT(problems(kGood, {"lora.rank=0"}), testing::HasSubstr("rank"));
  EXPECT_THAT(problems(kGood, {"compute=fp16"}), testing::HasSubstr("bf16"));
  EXPECT_THAT(problems(kGood, {"betas=[0.9]"}), testing::HasSubstr("betas"));
}

TEST(TrainConfig, ShippedFilesAreValid) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs/train")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NO_THROW(TrainConfig::load(entry.path(), {})) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 4);
}

}  // namespace
}  // namespace predgen

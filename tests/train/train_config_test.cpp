#include "train/train_config.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::train {
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
  EXPECT_THAT(problems(kGood + std::string("epochs: 2\n")), testing::HasSubstr("not both"));
  EXPECT_THAT(problems(kGood, {"epochs=2", "max_steps=3"}), testing::HasSubstr("not both"));
  EXPECT_THAT(problems(kGood, {"warmup_steps=2", "warmup_ratio=0.1"}),
              testing::HasSubstr("warmup_ratio"));
  EXPECT_THAT(problems(kGood, {"initialize=config.json"}), testing::HasSubstr("initialize"));
  EXPECT_THAT(problems(kGood, {"lora.rank=0"}), testing::HasSubstr("rank"));
  EXPECT_THAT(problems(kGood, {"compute=fp16"}), testing::HasSubstr("bf16"));
  EXPECT_THAT(problems(kGood, {"betas=[0.9]"}), testing::HasSubstr("betas"));
  EXPECT_THAT(problems(kGood, {"outlier_factor=1.5"}), testing::HasSubstr("at least 2"));
  EXPECT_THAT(problems(kGood, {"watch.every=5"}), testing::HasSubstr("the watch needs prompts"));
  EXPECT_EQ(problems(kGood, {"watch.every=5", "held_out=h"}), "");
}

TEST(TrainConfig, AnOverrideSaysHowLongInPlaceOfTheFile) {
  const TemporaryFolder folder;
  write_file(folder / "steps.yaml", kGood);
  std::string epochs = kGood;
  epochs.replace(epochs.find("max_steps: 5"), 12, "epochs: 3");
  write_file(folder / "epochs.yaml", epochs);
  const auto length = [&](const char* file, const std::vector<std::string>& overrides) {
    const TrainConfig config = TrainConfig::load(folder / file, overrides);
    return std::pair(config.max_steps, config.epochs);
  };
  EXPECT_EQ(length("epochs.yaml", {"max_steps=2"}), std::pair(int64_t{2}, 0.0));
  EXPECT_EQ(length("epochs.yaml", {"max_steps=2", "epochs=null"}), std::pair(int64_t{2}, 0.0));
  EXPECT_EQ(length("epochs.yaml", {"max_steps=2", "epochs="}), std::pair(int64_t{2}, 0.0));
  EXPECT_EQ(length("epochs.yaml", {"max_steps=2", "epochs=0"}), std::pair(int64_t{2}, 0.0));
  EXPECT_EQ(length("steps.yaml", {"epochs=0.5"}), std::pair(int64_t{0}, 0.5));
  EXPECT_EQ(length("steps.yaml", {"epochs=null"}), std::pair(int64_t{5}, 0.0));
  EXPECT_EQ(length("steps.yaml", {"max_steps=7"}), std::pair(int64_t{7}, 0.0));
}

TEST(TrainConfig, MayMakeItsDataset) {
  const TemporaryFolder folder;
  const std::string yaml = std::string(kGood) + "build: {sources: [chats.jsonl], law: whole}\n";
  write_file(folder / "train.yaml", yaml);
  const TrainConfig config = TrainConfig::load(folder / "train.yaml", {"build.seed=3"});
  ASSERT_TRUE(config.build);
  EXPECT_EQ(config.build->tokenizer, "base");
  EXPECT_EQ(config.build->output, "data");
  EXPECT_EQ(config.build->seed, 3);
  write_file(folder / "plain.yaml", kGood);
  EXPECT_FALSE(TrainConfig::load(folder / "plain.yaml", {}).build);
  EXPECT_EQ(TrainConfig::load(folder / "plain.yaml", {}).identity(), config.identity());
  EXPECT_THAT(problems(yaml, {"build.laws=whole"}), testing::HasSubstr("\"build.laws\""));
  EXPECT_THAT(problems(yaml, {"build.output=x"}), testing::HasSubstr("\"build.output\""));
}

TEST(TrainConfig, MaskTokensAreTheAdapters) {
  const TemporaryFolder folder;
  write_file(folder / "train.yaml", kGood);
  const TrainConfig config = TrainConfig::load(
      folder / "train.yaml",
      {"objective.kind=mtp", "objective.mask_tokens=[5, 6]", "objective.places=9"});
  EXPECT_EQ(config.lora.mask_tokens, (TokenIds{5, 6}));
  EXPECT_EQ(config.objective.mtp.places, 9);
  EXPECT_TRUE(config.identity().contains("objective.mask_tokens"));
  EXPECT_THAT(problems(kGood, {"objective.kind=mtp"}),
              testing::HasSubstr("must be ids of tokens that no text uses"));
  const std::string masks = "objective.mask_tokens=[5]";
  EXPECT_THAT(problems(kGood, {"objective.kind=mtp", masks, "mode=full"}),
              testing::HasSubstr("must be lora with `objective.kind: mtp`"));
  EXPECT_THAT(problems(kGood, {"objective.kind=mtp", masks, "watch.every=5", "held_out=h"}),
              testing::HasSubstr("must be 0 with `objective.kind: mtp`"));
  EXPECT_THAT(problems(kGood, {"objective.kind=mtp", masks, "objective.ar_weight=2"}),
              testing::HasSubstr("ar_weight"));
}

TEST(TrainConfig, RecomputedLayers) {
  const TemporaryFolder folder;
  write_file(folder / "train.yaml", kGood);
  for (const auto& [text, expected] : std::vector<std::pair<std::string, int64_t>>{
           {"auto", kAutoLayers}, {"all", kAllLayers}, {"none", 0}, {"3", 3}}) {
    const TrainConfig config = TrainConfig::load(folder / "train.yaml", {"recompute=" + text});
    EXPECT_EQ(config.num_recomputed, expected) << text;
    write_file(folder / "again.yaml", config.to_yaml());
    EXPECT_EQ(TrainConfig::load(folder / "again.yaml", {}).num_recomputed, expected) << text;
  }
  for (const char* wrong : {"0", "-1", "3x", "some", "1.5"}) {
    EXPECT_THAT(problems(kGood, {std::string("recompute=") + wrong}),
                testing::HasSubstr("must be auto, all, none or a number of layers"));
  }
  // Layers that are fetched are all run again.
  EXPECT_EQ(problems(kGood, {"base.offload=true", "recompute=auto"}), "");
  EXPECT_THAT(problems(kGood, {"base.offload=true", "recompute=3"}),
              testing::HasSubstr("must be all or auto"));
}

TEST(TrainConfig, LoraAsPeftNamesIt) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "train.yaml";
  write_file(file, std::string(kGood) +
                       "lora: {use_rslora: true, targets: all-linear, rank_pattern: {down_proj: 4, "
                       "'layers\\.1\\..*': 2}, alpha_pattern: {0.mlp.up_proj: 0.5}}\n");
  const LoraConfig lora = TrainConfig::load(file, {}).lora;
  EXPECT_TRUE(lora.use_rslora);
  EXPECT_EQ(lora.target_modules, LoraConfig().target_modules);
  using testing::Pair;
  EXPECT_THAT(lora.rank_pattern,
              testing::ElementsAre(Pair("down_proj", 4), Pair("layers\\.1\\..*", 2)));
  EXPECT_THAT(lora.alpha_pattern, testing::ElementsAre(Pair("0.mlp.up_proj", 0.5)));
  const TrainConfig config = TrainConfig::load(file, {});
  write_file(folder / "again.yaml", config.to_yaml());
  EXPECT_EQ(TrainConfig::load(folder / "again.yaml", {}).identity(), config.identity());

  EXPECT_THAT(problems(kGood, {"lora.targets=q_proj"}),
              testing::HasSubstr("must be all-linear or a list such as [q_proj, v_proj]"));
  EXPECT_THAT(problems(kGood, {"lora.rank_pattern={q_proj: 0}"}),
              testing::HasSubstr("between 1 and 4096, not 0 for \"q_proj\""));
  EXPECT_THAT(problems(kGood, {"lora.alpha_pattern={q_proj: -1}"}), testing::HasSubstr("not -1"));
  EXPECT_THAT(problems(kGood, {"lora.alpha_pattern={'(': 1}"}),
              testing::HasSubstr("\"lora.alpha_pattern\" is wrong"));
}

TEST(TrainConfig, ShippedFilesAreValidAndCanBeWrittenBack) {
  const TemporaryFolder folder;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("configs/train")) {
    if (entry.path().extension() != ".yaml") continue;
    const TrainConfig config = TrainConfig::load(entry.path(), {});
    write_file(folder / "again.yaml", config.to_yaml());
    const TrainConfig again = TrainConfig::load(folder / "again.yaml", {});
    EXPECT_EQ(again.to_yaml(), config.to_yaml()) << entry.path();
    EXPECT_EQ(again.identity(), config.identity()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 4);
}

TEST(TrainConfig, IdentityHasTheNamesAndValuesOfTheFile) {
  const TemporaryFolder folder;
  write_file(folder / "train.yaml", kGood);
  const TrainConfig config =
      TrainConfig::load(folder / "train.yaml",
                        {"objective.blocks=every", "lora.targets=[q_proj]", "betas=[0.5,0.9]"});
  const auto identity = config.identity();
  EXPECT_EQ(identity.at("model"), "\"base\"");
  EXPECT_EQ(identity.at("mode"), "\"lora\"");
  EXPECT_EQ(identity.at("schedule"), "\"cosine\"");
  EXPECT_EQ(identity.at("objective.kind"), "\"cllm\"");
  EXPECT_EQ(identity.at("objective.blocks"), "\"every\"");
  EXPECT_EQ(identity.at("objective.ar_weight"), "10");
  EXPECT_EQ(identity.at("lora.targets"), "[\"q_proj\"]");
  EXPECT_EQ(identity.at("betas"), "[0.5, 0.9]");
  EXPECT_EQ(identity.at("compute"), "\"fp32\"");
}

TEST(TrainConfig, IdentityIsEverySettingButThoseThatAResumeMayChange) {
  const TemporaryFolder folder;
  write_file(folder / "train.yaml", kGood);
  const TrainConfig config = TrainConfig::load(folder / "train.yaml", {});
  const auto load = [&](const std::string& change) {
    return TrainConfig::load(folder / "train.yaml", {change}).identity();
  };
  for (const char* change :
       {"tokenizer=t", "dataset=d", "replay=[r]", "held_out=h", "held_out_records=3", "recompute=3",
        "stop_at_step=3", "device=cpu", "threads=3", "output=o", "save_dtype=bf16", "save_every=3",
        "keep_last=3", "eval_every=3", "log_every=3", "outlier_factor=3", "watch.records=3"}) {
    EXPECT_EQ(load(change), config.identity()) << change;
  }
  for (const char* change : {"model=m",
                             "lora.rank=3",
                             "lora.alpha=3",
                             "lora.dropout=0.3",
                             "lora.targets=[up_proj]",
                             "lora.use_rslora=true",
                             "lora.rank_pattern={up_proj: 3}",
                             "lora.alpha_pattern={up_proj: 3}",
                             "start_from=a",
                             "objective.kind=jacobi_forcing",
                             "objective.ar_weight=3",
                             "objective.consistency_weight=3",
                             "objective.ar_target=base",
                             "objective.states=progressive",
                             "objective.blocks=every",
                             "objective.states_per_block=3",
                             "objective.distance_decay=0.3",
                             "objective.noise_window=3",
                             "objective.mean_over_blocks=true",
                             "objective.stop_tokens=[3]",
                             "batch_size=3",
                             "global_batch=16",
                             "max_steps=3",
                             "learning_rate=3e-3",
                             "schedule=linear",
                             "warmup_steps=3",
                             "warmup_ratio=0.3",
                             "min_ratio=0.3",
                             "weight_decay=0.3",
                             "betas=[0.3,0.3]",
                             "eps=0.3",
                             "max_grad_norm=3",
                             "compute=bf16",
                             "seed=3"}) {
    EXPECT_NE(load(change), config.identity()) << change;
  }
}

}  // namespace
}  // namespace predgen::train

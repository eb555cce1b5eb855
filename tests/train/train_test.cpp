#include "train/train.h"

#include <gmock/gmock.h>

#include "model/weights/safetensors.h"
#include "tests/train/training.h"
#include "train/checkpoint_store.h"

namespace predgen {
namespace {

/// A LoRA adapter.
class AdapterTraining : public Training {
 protected:
  /// Of rank 2, on a base that was trained for a step.
  TrainConfig lora_config(const char* output) {
    TrainConfig base = config("base");
    base.max_steps = 1;
    run(base);
    TrainConfig lora = config(output);
    lora.initialize.clear();
    lora.model = folder_ / "base" / "final";
    lora.mode = TrainMode::kLora;
    lora.lora.rank = 2;
    return lora;
  }
  std::string adapter(const char* output) const {
    return read_file(folder_ / output / "final" / "adapter_model.safetensors");
  }
};

TEST_F(Training, ResumesBitForBit) {
  run(config("whole"));
  TrainConfig parts = config("parts");
  parts.stop_at_step = 3;
  EXPECT_THROW(run(parts), Interrupted);
  parts.stop_at_step = 0;
  run(parts, "auto");
  EXPECT_EQ(weights("parts"), weights("whole"));
  EXPECT_EQ(losses("parts"), losses("whole"));
  EXPECT_EQ(losses("whole").size(), 6u);
  // Not because nothing was learned, nor because the seed does nothing.
  TrainConfig other = config("other");
  other.seed = 1;
  run(other);
  EXPECT_NE(weights("other"), weights("whole"));
}

TEST_F(AdapterTraining, ResumesBitForBitWithDropout) {
  TrainConfig lora = lora_config("whole");
  lora.lora.dropout = 0.3;
  lora.compute = Compute::kBFloat16;
  run(lora);
  lora.output = folder_ / "parts";
  lora.stop_at_step = 4;
  EXPECT_THROW(run(lora), Interrupted);
  lora.stop_at_step = 0;
  run(lora, (folder_ / "parts" / "step-00000002").string());  // not the newest
  EXPECT_EQ(adapter("parts"), adapter("whole"));
  EXPECT_EQ(losses("parts"), losses("whole"));
}

TEST_F(AdapterTraining, GoesOnFromAnAdapter) {
  TrainConfig lora = lora_config("first");
  run(lora);
  lora.start_from = folder_ / "first" / "final";
  lora.output = folder_ / "second";
  lora.learning_rate = 0;
  run(lora);
  EXPECT_EQ(adapter("second"), adapter("first"));
}

TEST_F(AdapterTraining, GoesOnFromAnAdapterWithPatternsInBfloat16) {
  TrainConfig lora = lora_config("first");
  lora.lora.use_rslora = true;
  lora.lora.target_modules = {"q_proj", "down_proj"};
  lora.lora.rank_pattern = {{"1.self_attn.q_proj", 3}, {"down_proj", 1}};
  lora.lora.alpha_pattern = {{R"(layers\.0\..*)", 5}};
  lora.save_dtype = "bf16";
  run(lora);
  lora.start_from = folder_ / "first" / "final";
  lora.output = folder_ / "second";
  lora.learning_rate = 0;
  run(lora);
  EXPECT_EQ(adapter("second"), adapter("first"));
}

TEST_F(AdapterTraining, SaysWhichSettingOfAnAdapterIsAnother) {
  TrainConfig lora = lora_config("first");
  lora.lora.target_modules = {"q_proj", "up_proj"};
  lora.max_steps = 1;
  run(lora);
  lora.start_from = folder_ / "first" / "final";
  lora.output = folder_ / "second";
  const auto refused = [&](const std::function<void(LoraConfig&)>& change) {
    TrainConfig other = lora;
    change(other.lora);
    const std::string text = message([&] { run(other); });
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("\n")));
    return text;
  };
  EXPECT_THAT(refused([](LoraConfig& other) { other.rank = 3; }),
              testing::HasSubstr("q_proj has rank 2 there, 3 here: set lora.rank"));
  EXPECT_THAT(refused([](LoraConfig& other) {
                other.rank_pattern = {{"up_proj", 1}};
              }),
              testing::HasSubstr("0.mlp.up_proj has rank 2 there, 1 here: set lora.rank"));
  EXPECT_THAT(refused([](LoraConfig& other) { other.use_rslora = true; }),
              testing::HasSubstr("q_proj has scaling 16 there, 22.6274 here: set lora.alpha"));
  EXPECT_THAT(refused([](LoraConfig& other) {
                other.alpha_pattern = {{"1.mlp.up_proj", 1}};
              }),
              testing::HasSubstr("1.mlp.up_proj has scaling 16 there, 0.5 here: set lora.alpha"));
  EXPECT_THAT(refused([](LoraConfig& other) { other.target_modules = {"q_proj"}; }),
              testing::HasSubstr("up_proj has an adapter there, none here: set lora.targets"));
  EXPECT_THAT(refused([](LoraConfig& other) { other.target_modules.push_back("o_proj"); }),
              testing::HasSubstr("o_proj has no adapter there, one here: set lora.targets"));
  // What training does not know is refused by its name in adapter_config.json.
  const std::filesystem::path file = lora.start_from / "adapter_config.json";
  Json json = Json::parse(read_file(file));
  json["use_dora"] = true;
  write_file(file, json.dump());
  EXPECT_THAT(refused([](LoraConfig&) {}), testing::HasSubstr("\"use_dora\": true"));
}

TEST_F(AdapterTraining, RefusesTheAdapterOfAnotherModel) {
  TrainConfig lora = lora_config("first");
  run(lora);
  lora.start_from = folder_ / "first" / "final";
  lora.output = folder_ / "second";
  const std::filesystem::path file = lora.start_from / "adapter_model.safetensors";
  std::map<std::string, at::Tensor> tensors;
  {
    const SafetensorsFile stored(file);
    for (const auto& [name, entry] : stored.entries()) tensors[name] = stored.tensor(name).clone();
  }
  tensors["base_model.model.model.layers.9.mlp.up_proj.lora_A.weight"] = at::ones({2, 2});
  write_safetensors(file, tensors);
  EXPECT_THAT(message([&] { run(lora); }), testing::HasSubstr("belongs to another model"));
  tensors.erase("base_model.model.model.layers.9.mlp.up_proj.lora_A.weight");
  tensors["base_model.model.model.embed_tokens.weight"] = at::ones({40, 16});
  write_safetensors(file, tensors);
  EXPECT_THAT(message([&] { run(lora); }),
              testing::HasSubstr("has model.embed_tokens.weight whole"));
}

TEST_F(AdapterTraining, ABaseThatHasChangedIsNotResumed) {
  TrainConfig lora = lora_config("out");
  lora.stop_at_step = 4;
  EXPECT_THROW(run(lora), Interrupted);
  const std::filesystem::path base = lora.model, moved = folder_ / "moved";
  std::filesystem::rename(base, moved);
  lora.model = moved;
  const std::filesystem::path file = moved / "model.safetensors";
  const std::string bytes = read_file(file);
  std::string changed = bytes;
  changed.back() ^= 1;
  write_file(file, changed);
  EXPECT_THAT(message([&] { run(lora, "auto"); }), testing::HasSubstr("model: "));
  write_file(file, bytes);
  lora.stop_at_step = 0;
  EXPECT_NO_THROW(run(lora, "auto"));  // moved, but the same
}

TEST_F(Training, KeepsTheLastCheckpointsAndSkipsUnfinishedOnes) {
  run(config("out"));
  const std::filesystem::path output = folder_ / "out";
  EXPECT_FALSE(std::filesystem::exists(output / "step-00000002"));
  EXPECT_TRUE(std::filesystem::exists(output / "step-00000004" / "DONE"));
  EXPECT_TRUE(std::filesystem::exists(output / "step-00000006" / "DONE"));
  std::filesystem::remove(output / "step-00000006" / "DONE");
  const CheckpointStore store(output, {}, 2);
  EXPECT_EQ(store.newest(), output / "step-00000004");
}

TEST_F(Training, RefusesAFullFolderAndAnotherRun) {
  run(config("out"));
  EXPECT_THAT(message([&] { run(config("out")); }), testing::HasSubstr("--resume auto"));
  TrainConfig changed = config("out");
  changed.learning_rate = 0.5;
  EXPECT_THAT(message([&] { run(changed, "auto"); }),
              testing::HasSubstr("learning_rate: 0.01 there, 0.5 now"));
  write_data(folder_ / "other_data", 100);
  changed = config("out");
  changed.dataset = folder_ / "other_data";
  EXPECT_THAT(message([&] { run(changed, "auto"); }), testing::HasSubstr("dataset: "));
  EXPECT_THAT(message([&] { run(config("new"), (folder_ / "nowhere").string()); }),
              testing::HasSubstr("no DONE file"));
}

TEST_F(Training, NamesWhatDiffersFromTheCheckpointsRun) {
  run(config("out"));
  TrainConfig changed = config("out");
  changed.schedule = ScheduleKind::kLinear;
  changed.objective.consistency.noise_window = 3;
  const std::string text = message([&] { run(changed, "auto"); });
  EXPECT_THAT(text, testing::HasSubstr("objective.noise_window: 16 there, 3 now"));
  EXPECT_THAT(text, testing::HasSubstr("schedule: \"cosine\" there, \"linear\" now"));
}

TEST_F(Training, RefusesACheckpointOfAnotherFormat) {
  run(config("out"));
  const std::filesystem::path file = folder_ / "out" / "step-00000006" / "state.json";
  Json state = read_json(file);
  state["format"] = 1;
  write_file(file, state.dump());
  const std::string text = message([&] { run(config("out"), "auto"); });
  EXPECT_THAT(text, testing::HasSubstr("has format 1, this program resumes format 3"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\n")));
}

TEST_F(Training, WritesTheConfigurationOfItsRun) {
  run(config("out"));
  TrainConfig again = TrainConfig::load(folder_ / "out" / "config.yaml", {});
  EXPECT_EQ(again.to_yaml(), config("out").to_yaml());
  again.output = folder_ / "again";
  run(again);
  EXPECT_EQ(weights("again"), weights("out"));
}

TEST_F(Training, LearnsAndReportsHeldOutLoss) {
  TrainConfig learning = config("out");
  learning.objective.kind = ObjectiveKind::kAutoregressive;
  learning.max_steps = 60;
  learning.held_out = folder_ / "data";
  learning.eval_every = 30;
  run(learning);
  std::vector<double> held_out;
  for (const std::string& line : losses("out")) {
    const Json json = Json::parse(line);
    if (json.contains("held_out/ar")) held_out.push_back(json["held_out/ar"]);
  }
  ASSERT_EQ(held_out.size(), 2u);
  EXPECT_LT(held_out[1], held_out[0]);
  EXPECT_LT(held_out[1], 1.0);  // ln 40 = 3.7 before
}

TEST_F(Training, RefusesRecordsThatDoNotFit) {
  ModelConfig small = tiny_config();
  small.max_positions = 10;
  write_file(folder_ / "model.json", small.to_json().dump());
  EXPECT_THAT(message([&] { run(config("out")); }), testing::HasSubstr("room for 10"));
}

TEST_F(Training, SavesItsTokenizerBesideANewModel) {
  TrainConfig plain = config("out");
  plain.tokenizer = folder_ / "tokenizer";
  make_folder(plain.tokenizer);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json",
                           "config.json", "notes.json", "model.safetensors"}) {
    write_file(std::filesystem::path(plain.tokenizer) / name, name);
  }
  const auto model = tiny_model();
  const std::filesystem::path saved = folder_ / "saved";
  TrainedWeights(*model, plain).save(saved, "fp32");
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json"}) {
    EXPECT_EQ(read_file(saved / name), name);
  }
  EXPECT_FALSE(std::filesystem::exists(saved / "notes.json"));
  EXPECT_NE(read_file(saved / "config.json"), "config.json");
  EXPECT_NO_THROW(SafetensorsFile(saved / "model.safetensors"));
}

TEST_F(Training, RefusesADatasetThatTeachesNothing) {
  const auto writer = create_dataset(folder_ / "empty", Json::object(), {});
  Record record = small_record(0);
  record.loss_mask.assign(record.tokens.size(), 0);
  writer->append(record);
  writer->finish(Json::object());
  TrainConfig nothing = config("out");
  nothing.dataset = folder_ / "empty";
  EXPECT_THAT(message([&] { run(nothing); }), testing::HasSubstr("no token to learn"));
}

}  // namespace
}  // namespace predgen

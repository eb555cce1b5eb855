#include "train/train.h"

#include <gmock/gmock.h>

#include "core/version.h"
#include "tensors/safetensors.h"
#include "tests/fakes/tokenizer_folder.h"
#include "tests/train/training.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenizer.h"
#include "train/checkpoint_store.h"
#include "train/run_log.h"

namespace predgen::train {
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
  const SafetensorsFile file(lora.output / "final/adapter_model.safetensors");
  EXPECT_EQ(file.entries().begin()->second.dtype, at::kBFloat16);
  lora.start_from = folder_ / "first" / "final";
  lora.output = folder_ / "second";
  lora.learning_rate = 0;
  run(lora);
  EXPECT_EQ(adapter("second"), adapter("first"));
}

TEST_F(AdapterTraining, LearnsMaskTokens) {
  TrainConfig lora = lora_config("first");
  lora.objective = {.kind = ObjectiveKind::kMtp, .mtp = {.mask_tokens = {38, 37}, .places = 3}};
  lora.lora.mask_tokens = lora.objective.mtp.mask_tokens;
  lora.held_out = lora.dataset;
  lora.max_steps = 12;
  lora.eval_every = 2;
  run(lora);
  std::vector<double> losses;
  read_metrics(lora.output / "metrics.jsonl", [&](const Json& line) {
    if (line.contains("held_out/mtp")) losses.push_back(line.at("held_out/mtp"));
  });
  ASSERT_GE(losses.size(), 4);
  EXPECT_LT(losses.back(), 0.95 * losses.front());
  const Json written = read_json(lora.output / "final/adapter_config.json");
  EXPECT_EQ(written.at("mask_tokens"), Json({38, 37}));

  lora.start_from = folder_ / "first" / "final";
  lora.output = folder_ / "second";
  TrainConfig other = lora;
  other.lora.mask_tokens = other.objective.mtp.mask_tokens = {37, 38};
  EXPECT_THAT(message([&] { run(other); }),
              testing::HasSubstr("has mask_tokens [38, 37], this run [37, 38]"));
  other.objective.mtp.mask_tokens = {40};
  EXPECT_THAT(message([&] { run(other); }),
              testing::HasSubstr("objective.mask_tokens: token 40 does not exist"));
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
    std::string text = message([&] { run(other); });
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

TEST_F(Training, ADatasetOfAnotherVersionOfPredgenIsTheSame) {
  run(config("out"));
  const Json state = read_json(folder_ / "out" / "step-00000006" / "state.json");
  EXPECT_EQ(state.at("predgen"), program_version());
  const std::filesystem::path file = config("out").dataset / "manifest.json";
  Json manifest = read_json(file);
  manifest.at("predgen") = "9.9.9";
  write_file(file, manifest.dump());
  EXPECT_EQ(message([&] { run(config("out"), "auto"); }), "");
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

TEST_F(Training, RefusesDataOfAnotherTokenizer) {
  const auto write_for = [&](const char* name, const std::string& tokenizer) {
    const auto writer = data::create_dataset(folder_ / name, {{"tokenizer", tokenizer}}, {});
    writer->append(small_record(0));
    writer->finish(Json::object());
    return folder_ / name;
  };
  const TokenizerFolder tokenizer;
  ModelConfig model = tiny_config();
  model.vocab_size = 300;
  write_file(folder_ / "model.json", model.to_json().dump());
  TrainConfig plain = config("out");
  plain.tokenizer = tokenizer.write();
  plain.batch_size = plain.global_batch = plain.max_steps = 1;
  plain.dataset =
      write_for("right", load_tokenizer(TokenizerFiles::read(plain.tokenizer))->content_hash());
  EXPECT_NO_THROW(run(plain));
  plain.output = folder_ / "other";
  TrainConfig other = plain;
  const std::filesystem::path wrong = write_for("wrong", "of another model");
  other.dataset = wrong;
  const std::string text = message([&] { run(other); });
  EXPECT_THAT(text, testing::HasSubstr(wrong.string() + ": was built with another tokenizer"));
  EXPECT_THAT(text, testing::HasSubstr(plain.tokenizer.string()));
  other = plain;
  other.replay = {wrong};
  EXPECT_THAT(message([&] { run(other); }), testing::HasSubstr("another tokenizer"));
  other = plain;
  other.held_out = wrong;
  EXPECT_THAT(message([&] { run(other); }), testing::HasSubstr("another tokenizer"));
  other.tokenizer.clear();  // then they are held against each other
  EXPECT_THAT(message([&] { run(other); }), testing::HasSubstr("another tokenizer"));
  model.vocab_size = 40;
  write_file(folder_ / "model.json", model.to_json().dump());
  EXPECT_THAT(message([&] { run(plain); }), testing::HasSubstr("vocab_size"));
}

TEST_F(Training, RefusesTokensThatTheModelDoesNotKnow) {
  const auto writer = data::create_dataset(folder_ / "large", Json::object(), {});
  for (int64_t i = 0; i < 4; ++i) {
    writer->append(small_record(i));
  }
  data::Record record = small_record(4);
  record.tokens.back() = 40;
  writer->append(record);
  writer->finish(Json::object());
  TrainConfig large = config("out");
  large.dataset = folder_ / "large";
  EXPECT_THAT(message([&] { run(large); }),
              testing::HasSubstr("conversation 4, round 0 has token 40, the model has 40 of them"));
  const auto write = [&](const char* name, const data::Record& repeated) {
    const auto one = data::create_dataset(folder_ / name, Json::object(), {});
    for (int64_t i = 0; i < 4; ++i) one->append(repeated);
    one->finish(Json::object());
    return folder_ / name;
  };
  record = small_record(4);
  record.blocks[0].states[1][2] = 41;
  large.dataset = write("block", record);
  EXPECT_THAT(message([&] { run(large); }), testing::HasSubstr("has token 41"));
  large.dataset = config("out").dataset;
  large.held_out = write("held_out", record);
  large.eval_every = 1;
  EXPECT_THAT(message([&] { run(large); }), testing::HasSubstr("has token 41"));
}

TEST_F(Training, RefusesConsistencyWithoutTrajectories) {
  const auto writer = data::create_dataset(folder_ / "plain", Json::object(), {});
  for (int64_t i = 0; i < 4; ++i) {
    data::Record record = small_record(i);
    record.blocks.clear();
    writer->append(record);
  }
  writer->finish(Json::object());
  TrainConfig plain = config("out");
  plain.dataset = folder_ / "plain";
  const std::string text = message([&] { run(plain); });
  EXPECT_THAT(text, testing::HasSubstr("objective.kind: cllm"));
  EXPECT_THAT(text, testing::HasSubstr(plain.dataset.string()));
  EXPECT_THAT(text, testing::HasSubstr("predgen data trajectories"));
  plain.replay = {folder_ / "data"};  // they have some
  EXPECT_NO_THROW(run(plain));
  plain.output = folder_ / "answers";
  plain.replay.clear();
  plain.objective.consistency.consistency_weight = 0;
  EXPECT_NO_THROW(run(plain));
}

TEST_F(Training, OnlyPlainAnswersStandAloneInARow) {
  const auto writer = data::create_dataset(folder_ / "alone", Json::object(), {});
  for (int64_t i = 0; i < 4; ++i) {
    data::Record record = small_record(i);
    record.branches = {1, 2};
    writer->append(record);
  }
  writer->finish(Json::object());
  TrainConfig alone = config("out");
  alone.dataset = folder_ / "alone";
  EXPECT_THAT(message([&] { run(alone); }),
              testing::HasSubstr("objective.kind: cllm does not take questions that stand alone"));
  alone.objective.kind = ObjectiveKind::kAutoregressive;
  EXPECT_NO_THROW(run(alone));
}

TEST_F(Training, GoesOnToMoreSteps) {
  TrainConfig longer = config("out");
  longer.schedule = ScheduleKind::kConstant;
  run(longer);
  longer.max_steps = 8;
  run(longer, "auto");
  TrainConfig whole = config("whole");
  whole.schedule = ScheduleKind::kConstant;
  whole.max_steps = 8;
  run(whole);
  EXPECT_EQ(weights("out"), weights("whole"));
  longer.max_steps = 7;
  EXPECT_THAT(message([&] { run(longer, "auto"); }),
              testing::HasSubstr("max_steps: 8 there, 7 now"));
}

TEST_F(Training, ALongerRunTakesTheLearningRatesOfItsLength) {
  run(config("out"));
  TrainConfig longer = config("out");
  longer.max_steps = 12;
  run(longer, "auto");
  longer.output = folder_ / "whole";
  run(longer);
  const auto rate = [&](const char* output, size_t step) {
    return Json::parse(losses(output).at(step - 1)).at("train/learning_rate").get<double>();
  };
  for (const size_t step : {7u, 12u}) EXPECT_EQ(rate("out", step), rate("whole", step));
  EXPECT_GT(rate("out", 7), rate("out", 6));  // the cosine had come down further
}

TEST_F(Training, AStartThatMadeNoStepIsNoObstacle) {
  // Everything is there but a step: what a start leaves when it runs out of memory.
  make_folder(folder_ / "out" / "tensorboard");
  write_file(folder_ / "out" / "config.yaml", config("out").to_yaml());
  write_file(folder_ / "out" / "metrics.jsonl", "{\"step\":0,\"watch/repetition\":0.5}\n");
  write_file(folder_ / "out" / "watch.jsonl", "{\"step\":0}\n");
  EXPECT_NO_THROW(run(config("out")));
  EXPECT_EQ(losses("out").size(), 6u);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "watch.jsonl"));
  // A step was made, or somebody's own file lies there.
  write_file(folder_ / "out" / "notes.txt", "");
  EXPECT_THAT(message([&] { run(config("out")); }), testing::HasSubstr("is not empty"));
  make_folder(folder_ / "own");
  write_file(folder_ / "own" / "config.yaml", "");
  EXPECT_THAT(message([&] { run(config("own")); }), testing::HasSubstr("is not empty"));
}

TEST_F(Training, ASecondRunLeavesTheFolderOfTheFirstAlone) {
  std::optional<OutputLock> first(std::in_place, folder_ / "out");
  write_file(folder_ / "out" / "metrics.jsonl", "{\"step\":0}\n");  // it has made no step
  EXPECT_THAT(message([&] { run(config("out")); }), testing::HasSubstr("another run writes there"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / "metrics.jsonl"));
  first.reset();
  EXPECT_NO_THROW(run(config("out")));
}

TEST_F(AdapterTraining, LearnsAnswersOnAFolderOfWeightsAlone) {
  TrainConfig lora = lora_config("out");
  lora.objective.kind = ObjectiveKind::kAutoregressive;
  lora.tokenizer = lora.model;  // as it is by default
  const auto writer = data::create_dataset(folder_ / "named", {{"tokenizer", "of somebody"}}, {});
  for (int64_t i = 0; i < 4; ++i) writer->append(small_record(i));
  writer->finish(Json::object());
  lora.dataset = folder_ / "named";
  EXPECT_EQ(message([&] { run(lora); }), "");
}

TEST_F(AdapterTraining, ABaseInFourBitsOfUniformScalesIsNotResumed) {
  TrainConfig lora = lora_config("out");
  lora.base.weights = BaseWeights::kNf4;
  lora.num_recomputed = kAllLayers;
  run(lora);
  const std::filesystem::path file = folder_ / "out" / "step-00000006" / "state.json";
  Json state = read_json(file);
  state.at("run").at("base.weights") = R"("nf4")";  // which it was called
  write_file(file, state.dump());
  EXPECT_THAT(message([&] { run(lora, "auto"); }),
              testing::HasSubstr("with logarithmic scales now"));
}

TEST_F(Training, RefusesADatasetThatTeachesNothing) {
  const auto writer = data::create_dataset(folder_ / "empty", Json::object(), {});
  data::Record record = small_record(0);
  record.loss_mask.assign(record.tokens.size(), 0);
  writer->append(record);
  writer->finish(Json::object());
  TrainConfig nothing = config("out");
  nothing.dataset = folder_ / "empty";
  EXPECT_THAT(message([&] { run(nothing); }), testing::HasSubstr("no token to learn"));
}

TEST_F(Training, RefusesPromptsWithoutAnAnswerWhereAnswersAreLearned) {
  const auto writer = data::create_dataset(folder_ / "prompts", Json::object(), {});
  writer->append(small_record(0));
  data::Record prompt = small_record(1);
  prompt.tokens.resize(static_cast<size_t>(prompt.prompt_length));
  prompt.loss_mask.assign(prompt.tokens.size(), 0);
  prompt.blocks.clear();
  writer->append(prompt);
  writer->finish(Json::object());
  TrainConfig labels = config("out");
  labels.objective.kind = ObjectiveKind::kAutoregressive;
  labels.replay = {folder_ / "prompts"};
  EXPECT_THAT(
      message([&] { run(labels); }),
      testing::AllOf(testing::HasSubstr((folder_ / "prompts").string() + ": 1 of 2 records"),
                     testing::HasSubstr("objective.kind: autoregressive"),
                     testing::HasSubstr("ar_labels=fixed_point")));
  labels.replay.clear();
  labels.held_out = folder_ / "prompts";
  EXPECT_THAT(message([&] { run(labels); }), testing::HasSubstr("`held_out` needs answers"));
}

}  // namespace
}  // namespace predgen::train

#include "train/train_config.h"

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "train/train_settings.h"

namespace predgen::train {
namespace {

void read_objective(ConfigReader reader, ObjectiveConfig& config) {
  read_settings(reader, {kind_setting(config)});
  if (config.kind == ObjectiveKind::kMtp) return read_settings(reader, settings_of(config.mtp));
  if (reader.has("kind")) config.consistency = consistency_preset(config.kind);
  read_settings(reader, settings_of(config.consistency, config.kind));
}

/// `config` holds the defaults.
void read_all(ConfigReader& reader, TrainConfig& config) {
  const Settings model = model_settings(config);
  read_settings(reader, unchecked(model));
  if (config.tokenizer.empty()) config.tokenizer = config.model;
  if (config.mode == TrainMode::kLora) {
    read_settings(reader, lora_settings(config));
    config.lora.base_model = config.model.string();
  }
  read_settings(reader, base_settings(config));
  read_objective(reader.section("objective"), config.objective);
  config.lora.mask_tokens = config.objective.mtp.mask_tokens;
  read_settings(reader, run_settings(config));
  if (config.global_batch == 0) config.global_batch = config.batch_size;
  read_settings(reader, {{"watch", watch_settings(config)}});
  check_settings(reader, model);
}

/// How the dataset is made. It is not among the values that identify a run: the dataset is.
void read_build(ConfigReader section, ConfigReader& reader, TrainConfig& config) {
  data::BuildConfig& build = config.build.emplace();
  build.tokenizer = config.tokenizer;
  build.chat_template = config.chat_template;
  build.output = config.dataset;
  read_settings(section, data::settings_of_examples(build));
  if (config.tokenizer.empty()) reader.problem("build", "needs `tokenizer`");
}

/// An override of max_steps or epochs replaces the other one of the file.
std::vector<std::string> with_one_length(std::vector<std::string> overrides) {
  const auto sets = [&](const std::string& key) {
    return std::ranges::any_of(overrides, [&](const std::string& text) {
      return text.starts_with(key + "=") && text != key + "=" && text != key + "=0" &&
             text != key + "=null";
    });
  };
  const bool sets_steps = sets("max_steps"), sets_epochs = sets("epochs");
  if (sets_steps && !sets_epochs) overrides.emplace_back("epochs=null");
  if (sets_epochs && !sets_steps) overrides.emplace_back("max_steps=null");
  return overrides;
}

/// A reader that has read an empty file with these defaults.
ConfigReader read_back(TrainConfig config) {
  ConfigReader reader = ConfigReader::parse("{}", "the configuration");
  read_all(reader, config);
  return reader;
}

/// Keys that may differ in a resumed run: they do not change what is trained, except
/// outlier_factor, which is set to get past a harmful step. The contents of the datasets and the
/// stop tokens of the tokenizer are compared in place of their paths.
constexpr const char* kMayChange[] = {"tokenizer",        "chat_template",  "dataset",
                                      "replay",           "held_out",       "held_out_records",
                                      "recompute",        "stop_at_step",   "device",
                                      "threads",          "output",         "save_dtype",
                                      "save_every",       "keep_last",      "eval_every",
                                      "log_every",        "outlier_factor", "watch.every",
                                      "watch.dataset",    "watch.records",  "watch.max_new_tokens",
                                      "watch.block_size", "base.shard",     "base.offload"};

}  // namespace

TrainConfig TrainConfig::load(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides) {
  TrainConfig config;
  ConfigReader reader = ConfigReader::load(file, with_one_length(overrides));
  read_all(reader, config);
  if (reader.has("build")) read_build(reader.section("build"), reader, config);
  reader.finish();
  return config;
}

ModelConfig TrainConfig::model_config() const {
  if (initialize.empty()) return open_checkpoint(model)->read_config();
  return ModelConfig::from_json(read_json(initialize), initialize.string());
}

std::vector<std::filesystem::path> TrainConfig::datasets() const {
  std::vector<std::filesystem::path> folders{dataset};
  folders.insert(folders.end(), replay.begin(), replay.end());
  return folders;
}

std::string TrainConfig::to_yaml() const { return read_back(*this).resolved(); }

std::map<std::string, std::string> TrainConfig::identity() const {
  std::map<std::string, std::string> values = read_back(*this).values();
  for (const char* key : kMayChange) {
    PREDGEN_CHECK(values.erase(key) == 1, "{} is no key of a training", key);
  }
  return values;
}

}  // namespace predgen::train

#include "train/train_config.h"

#include <algorithm>
#include <charconv>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "model/checkpoint/checkpoint.h"
#include "model/weights/name_pattern.h"

namespace predgen::train {
namespace {

constexpr int64_t kMany = int64_t{1} << 40;

void read_mtp(ConfigReader& reader, MtpOptions& options) {
  reader.optional("mask_tokens", options.mask_tokens);
  if (options.mask_tokens.empty()) {
    reader.problem("mask_tokens",
                   "must be ids of tokens that no text uses, as [5, 6, 7]: one for each token that "
                   "is predicted beyond the next");
  }
  reader.optional("places", options.places, int64_t{0}, kMany);
  reader.optional("distance_decay", options.distance_decay, 0.0, 1.0);
}

void read_objective(ConfigReader reader, ObjectiveConfig& config) {
  reader.choice("kind", config.kind, objective_kinds());
  if (config.kind == ObjectiveKind::kMtp) return read_mtp(reader, config.mtp);
  ConsistencyOptions& options = config.consistency;
  if (reader.has("kind")) options = consistency_preset(config.kind);
  reader.optional("label_smoothing", options.label_smoothing, 0.0, 0.99);
  if (config.kind == ObjectiveKind::kAutoregressive) return;
  reader.optional("ar_weight", options.ar_weight, 0.0, 1e6);
  reader.optional("consistency_weight", options.consistency_weight, 0.0, 1e6);
  reader.choice<ArTarget>("ar_target", options.ar_target,
                          {{"labels", ArTarget::kLabels}, {"base", ArTarget::kBase}});
  if (options.ar_target == ArTarget::kBase && options.label_smoothing > 0) {
    reader.problem("label_smoothing", "needs `ar_target: labels`: the base is no label");
  }
  reader.choice<StateChoice>(
      "states", options.states,
      {{"random", StateChoice::kRandom}, {"progressive", StateChoice::kProgressive}});
  if (config.kind == ObjectiveKind::kCllm) {
    reader.choice<BlockChoice>("blocks", options.blocks,
                               {{"one", BlockChoice::kOne}, {"every", BlockChoice::kEvery}});
  }
  reader.optional("states_per_block", options.states_per_block, int64_t{1}, kMany);
  reader.optional("distance_decay", options.distance_decay, 0.0, 1.0);
  reader.optional("noise_window", options.noise_window, int64_t{1}, kMany);
  reader.optional("mean_over_blocks", options.mean_over_blocks);
  reader.optional("stop_tokens", options.stop_tokens);
}

template <typename T>
void read_pattern(ConfigReader& reader, const char* key,
                  std::vector<std::pair<std::string, T>>& pattern, T lowest, T highest) {
  reader.optional(key, pattern);
  for (const auto& [name, value] : pattern) {
    if (!(value >= lowest && value <= highest)) {
      reader.problem(key, fmt::format("must have values between {} and {}, not {} for \"{}\"",
                                      lowest, highest, value, name));
    }
    try {
      NamePattern::of_end(name, key, "lora");
    } catch (const UserError& error) {
      reader.problem(key, fmt::format("is wrong: {}", error.what()));
    }
  }
}

void read_lora(ConfigReader reader, LoraConfig& config) {
  constexpr int64_t kHighestRank = 4096;
  constexpr double kHighestAlpha = 1e6;
  reader.optional("rank", config.rank, int64_t{1}, kHighestRank);
  reader.optional("alpha", config.alpha, 0.0, kHighestAlpha);
  reader.optional("dropout", config.dropout, 0.0, 0.99);
  reader.optional("use_rslora", config.use_rslora);
  read_pattern(reader, "rank_pattern", config.rank_pattern, int64_t{1}, kHighestRank);
  read_pattern(reader, "alpha_pattern", config.alpha_pattern, 0.0, kHighestAlpha);
  if (!reader.is_single("targets")) return reader.optional("targets", config.target_modules);
  std::string word;
  reader.optional("targets", word);
  if (word != "all-linear") {
    reader.problem("targets", "must be all-linear or a list such as [q_proj, v_proj], not " + word);
  }
  config.target_modules = LoraConfig().target_modules;
}

void read_base(ConfigReader reader, BaseConfig& config) {
  reader.choice("weights", config.weights, base_weights_kinds());
  reader.optional("shard", config.shard);
  reader.optional("offload", config.offload);
}

void read_optimizer(ConfigReader& reader, TrainConfig& config) {
  reader.optional("learning_rate", config.learning_rate, 0.0, 10.0);
  reader.choice("schedule", config.schedule, schedule_kinds());
  reader.optional("warmup_steps", config.warmup_steps, int64_t{0}, kMany);
  reader.optional("warmup_ratio", config.warmup_ratio, 0.0, 1.0);
  if (config.warmup_steps > 0 && config.warmup_ratio > 0) {
    reader.problem("warmup_ratio", "and warmup_steps are both set; keep one");
  }
  reader.optional("min_ratio", config.min_ratio, 0.0, 1.0);
  reader.optional("weight_decay", config.optimizer.weight_decay, 0.0, 10.0);
  std::vector<double> betas{config.optimizer.beta1, config.optimizer.beta2};
  reader.optional("betas", betas);
  if (betas.size() == 2 && betas[0] >= 0 && betas[0] < 1 && betas[1] >= 0 && betas[1] < 1) {
    config.optimizer.beta1 = betas[0];
    config.optimizer.beta2 = betas[1];
  } else {
    reader.problem("betas", "must be two numbers in [0, 1)");
  }
  reader.optional("eps", config.optimizer.eps, 1e-30, 1.0);
  reader.optional("max_grad_norm", config.max_grad_norm, 0.0, 1e9);
  reader.optional("outlier_factor", config.outlier_factor, 0.0, 1e9);
  if (config.outlier_factor > 0 && config.outlier_factor < 2) {
    reader.problem("outlier_factor", "must be 0 (no step is an outlier) or at least 2");
  }
}

/// auto, all, none or a number of layers.
void read_recompute(ConfigReader& reader, int64_t& num_layers) {
  std::string text = num_layers == 0             ? "none"
                     : num_layers == kAllLayers  ? "all"
                     : num_layers == kAutoLayers ? "auto"
                                                 : std::to_string(num_layers);
  reader.optional("recompute", text);
  if (text == "auto") num_layers = kAutoLayers;
  if (text == "all") num_layers = kAllLayers;
  if (text == "none") num_layers = 0;
  if (text == "auto" || text == "all" || text == "none") return;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, num_layers);
  if (error != std::errc() || stop != end || num_layers < 1 || num_layers > kMany) {
    reader.problem("recompute", "must be auto, all, none or a number of layers");
  }
}

void read_watch(ConfigReader reader, const TrainConfig& config, WatchConfig& watch) {
  reader.optional("every", watch.every, int64_t{0}, kMany);
  reader.optional("dataset", watch.dataset);
  reader.optional("records", watch.records, int64_t{1}, int64_t{4096});
  reader.optional("max_new_tokens", watch.max_new_tokens, int64_t{1}, int64_t{4096});
  reader.optional("block_size", watch.block_size, int64_t{1}, int64_t{4096});
  if (watch.every > 0 && watch.dataset.empty() && config.held_out.empty()) {
    reader.problem("dataset", "or `held_out` must be set: the watch needs prompts");
  }
  if (watch.every > 0 && config.objective.kind == ObjectiveKind::kMtp) {
    reader.problem("every", "must be 0 with `objective.kind: mtp`, which changes no answer");
  }
  if (watch.every > 0 && config.tokenizer.empty()) {
    reader.problem("every", "must be 0 without `tokenizer`: the watch reads the answers");
  }
}

/// `config` holds the defaults.
void read_all(ConfigReader& reader, TrainConfig& config) {
  reader.optional("model", config.model);
  reader.optional("initialize", config.initialize);
  reader.optional("tokenizer", config.tokenizer);
  reader.optional("chat_template", config.chat_template);
  if (config.model.empty() == config.initialize.empty()) {
    reader.problem("model", "or `initialize` (a config.json) must be set, and not both");
  }
  if (config.tokenizer.empty()) config.tokenizer = config.model;
  reader.choice<TrainMode>("mode", config.mode,
                           {{"lora", TrainMode::kLora}, {"full", TrainMode::kFull}});
  if (config.mode == TrainMode::kLora) {
    read_lora(reader.section("lora"), config.lora);
    reader.optional("start_from", config.start_from);
    config.lora.base_model = config.model.string();
    if (!config.initialize.empty()) {
      reader.problem("mode", "must be full with `initialize`: random weights cannot stay frozen");
    }
  }
  read_base(reader.section("base"), config.base);
  if (config.mode == TrainMode::kFull && !config.base.is_resident()) {
    reader.problem("base", "needs `mode: lora`: full training keeps no frozen base");
  }
  read_objective(reader.section("objective"), config.objective);
  config.lora.mask_tokens = config.objective.mtp.mask_tokens;
  if (config.mode == TrainMode::kFull && config.objective.kind == ObjectiveKind::kMtp) {
    reader.problem("mode", "must be lora with `objective.kind: mtp`: the model itself stays");
  }
  if (config.mode == TrainMode::kFull &&
      config.objective.consistency.ar_target == ArTarget::kBase) {
    reader.problem("mode",
                   "must be lora with `objective.ar_target: base`: full training keeps no base");
  }

  reader.required("dataset", config.dataset);
  reader.optional("replay", config.replay);
  reader.optional("held_out", config.held_out);
  reader.optional("held_out_records", config.held_out_records, int64_t{0}, kMany);
  reader.optional("batch_size", config.batch_size, int64_t{1}, kMany);
  reader.optional("global_batch", config.global_batch, int64_t{0}, kMany);
  if (config.global_batch == 0) config.global_batch = config.batch_size;
  if (config.batch_size < 1 || config.global_batch % config.batch_size != 0) {
    reader.problem("global_batch", "must be a multiple of batch_size");
  }
  reader.optional("max_steps", config.max_steps, int64_t{0}, kMany);
  reader.optional("epochs", config.epochs, 0.0, 1e6);
  if ((config.max_steps > 0) == (config.epochs > 0)) {
    reader.problem("max_steps", "or `epochs` must be set, and not both");
  }
  reader.optional("stop_at_step", config.stop_at_step, int64_t{0}, kMany);
  read_optimizer(reader, config);
  reader.choice<Compute>("compute", config.compute,
                         {{"fp32", Compute::kFloat32}, {"bf16", Compute::kBFloat16}});
  read_recompute(reader, config.num_recomputed);
  if (!config.base.is_resident() && config.num_recomputed != kAllLayers &&
      config.num_recomputed != kAutoLayers) {
    reader.problem("recompute",
                   "must be all or auto when `base` fetches the layers as they are used");
  }
  reader.optional("device", config.device);
  reader.optional("threads", config.threads, int64_t{0}, int64_t{4096});
  reader.optional("seed", config.seed, int64_t{0}, kMany);

  reader.required("output", config.output);
  reader.optional("save_dtype", config.save_dtype);
  if (config.save_dtype != "fp32" && config.save_dtype != "bf16") {
    reader.problem("save_dtype", "must be fp32 or bf16");
  }
  reader.optional("save_every", config.save_every, int64_t{1}, kMany);
  reader.optional("keep_last", config.keep_last, int64_t{1}, kMany);
  reader.optional("eval_every", config.eval_every, int64_t{0}, kMany);
  reader.optional("log_every", config.log_every, int64_t{1}, kMany);
  read_watch(reader.section("watch"), config, config.watch);
}

/// How the dataset is made. It is not among the values that identify a run: the dataset is.
void read_build(ConfigReader section, ConfigReader& reader, TrainConfig& config) {
  data::BuildConfig& build = config.build.emplace();
  build.tokenizer = config.tokenizer;
  build.chat_template = config.chat_template;
  build.output = config.dataset;
  build.read_examples(section);
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

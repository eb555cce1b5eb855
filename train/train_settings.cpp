#include "train/train_settings.h"

#include <charconv>

#include "core/error.h"
#include "model/load_options.h"
#include "model/weights/adapter_config.h"
#include "train/base/weight_codec.h"

namespace predgen::train {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

template <typename T>
std::string pattern_problem(const char* key, const std::vector<std::pair<std::string, T>>& pattern,
                            T lowest, T highest) {
  for (const auto& [name, value] : pattern) {
    if (!(value >= lowest && value <= highest)) {
      return fmt::format("must have values between {} and {}, not {} for \"{}\"", lowest, highest,
                         value, name);
    }
    try {
      NamePattern::of_end(name, key, "lora");
    } catch (const UserError& error) {
      return fmt::format("is wrong: {}", error.what());
    }
  }
  return "";
}

void read_targets(ConfigReader& reader, std::vector<std::string>& targets) {
  if (!reader.is_single("targets")) return reader.optional("targets", targets);
  std::string word;
  reader.optional("targets", word);
  if (word != kAllLinear) {
    reader.problem("targets", "must be all-linear or a list such as [q_proj, v_proj], not " + word);
  }
  targets = {kAllLinear};
}

Settings settings_of(LoraConfig& config) {
  constexpr int64_t kHighestRank = 4096;
  constexpr double kHighestAlpha = 1e6;
  const Setting::Special targets{
      [&config](ConfigReader& reader) { read_targets(reader, config.target_modules); }, kAllLinear};
  return {
      {"rank", config.rank, between(1, kHighestRank), "of the adapter"},
      {"alpha", config.alpha, between(0, kHighestAlpha), "the adapter counts alpha / rank times"},
      {"dropout", config.dropout, between(0, 0.99), "of its inputs"},
      {"use_rslora", config.use_rslora, "alpha / sqrt(rank) instead"},
      Setting("rank_pattern", config.rank_pattern,
              "other ranks, by the end of a layer's name or a pattern of it")
          .checked([&config] {
            return pattern_problem("rank_pattern", config.rank_pattern, int64_t{1}, kHighestRank);
          }),
      Setting("alpha_pattern", config.alpha_pattern, "other alphas").checked([&config] {
        return pattern_problem("alpha_pattern", config.alpha_pattern, 0.0, kHighestAlpha);
      }),
      {"targets", targets, "layers, by the end of their names; all-linear: all but the head"}};
}

Settings settings_of(BaseConfig& config) {
  return {{"weights", config.weights, base_weights_kinds(), "how the frozen layers are kept"},
          {"shard", config.shard, "a rank holds its share of each layer, gathered on use"},
          {"offload", config.offload, "in host memory, copied to the device on use"}};
}

void read_betas(ConfigReader& reader, AdamWOptions& optimizer) {
  std::vector<double> betas{optimizer.beta1, optimizer.beta2};
  reader.optional("betas", betas);
  if (betas.size() == 2 && betas[0] >= 0 && betas[0] < 1 && betas[1] >= 0 && betas[1] < 1) {
    optimizer.beta1 = betas[0];
    optimizer.beta2 = betas[1];
  } else {
    reader.problem("betas", "must be two numbers in [0, 1)");
  }
}

Settings optimizer_settings(TrainConfig& config) {
  AdamWOptions& optimizer = config.optimizer;
  const Setting::Special betas{
      [&optimizer](ConfigReader& reader) { read_betas(reader, optimizer); },
      fmt::format("[{}, {}]", optimizer.beta1, optimizer.beta2)};
  return {{"learning_rate", config.learning_rate, between(0, 10), "at its peak"},
          {"schedule", config.schedule, schedule_kinds(), "how the rate falls after it"},
          {"warmup_steps", config.warmup_steps, between(0, kMost), "to the peak"},
          Setting("warmup_ratio", config.warmup_ratio, between(0, 1), "of all steps, instead")
              .must([&config] { return config.warmup_steps == 0 || config.warmup_ratio <= 0; },
                    "and warmup_steps are both set; keep one"),
          {"min_ratio", config.min_ratio, between(0, 1), "share of the peak at the end"},
          {"weight_decay", optimizer.weight_decay, between(0, 10), "of matrices"},
          {"betas", betas, "of AdamW"},
          {"eps", optimizer.eps, between(1e-30, 1), "of AdamW"},
          {"max_grad_norm", config.max_grad_norm, between(0, 1e9), "0: no clipping"},
          Setting("outlier_factor", config.outlier_factor, between(0, 1e9),
                  "steps whose gradient norm exceeds this many medians are skipped; 0: none")
              .must([&config] { return config.outlier_factor <= 0 || config.outlier_factor >= 2; },
                    "must be 0 (no step is an outlier) or at least 2")};
}

std::string recompute_text(int64_t num_layers) {
  if (num_layers == 0) return "none";
  if (num_layers == kAllLayers) return "all";
  return num_layers == kAutoLayers ? "auto" : std::to_string(num_layers);
}

/// auto, all, none or a number of layers.
void read_recompute(ConfigReader& reader, int64_t& num_layers) {
  std::string text = recompute_text(num_layers);
  reader.optional("recompute", text);
  for (const int64_t named : {int64_t{0}, kAllLayers, kAutoLayers}) {
    if (text != recompute_text(named)) continue;
    num_layers = named;
    return;
  }
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, num_layers);
  if (error != std::errc() || stop != end || num_layers < 1 || num_layers > kMost) {
    reader.problem("recompute", "must be auto, all, none or a number of layers");
  }
}

bool is_full(const TrainConfig& config) { return config.mode == TrainMode::kFull; }

}  // namespace

Settings model_settings(TrainConfig& config) {
  const std::vector<std::pair<std::string, TrainMode>> modes{{"lora", TrainMode::kLora},
                                                             {"full", TrainMode::kFull}};
  return {Setting("model", config.model, "base model; or, from scratch:")
              .must([&config] { return config.model.empty() != config.initialize.empty(); },
                    "or `initialize` (a config.json) must be set, and not both"),
          {"initialize", config.initialize, "a config.json"},
          {"tokenizer", config.tokenizer, "folder; empty: the model's"},
          chat_template_setting(config.chat_template),
          Setting("mode", config.mode, modes, "an adapter, or every weight")
              .must([&config] { return is_full(config) || config.initialize.empty(); },
                    "must be full with `initialize`: random weights cannot stay frozen")
              .must(
                  [&config] {
                    return !is_full(config) || config.objective.kind != ObjectiveKind::kMtp;
                  },
                  "must be lora with `objective.kind: mtp`: the model itself stays")
              .must(
                  [&config] {
                    return !is_full(config) ||
                           config.objective.consistency.ar_target != ArTarget::kBase;
                  },
                  "must be lora with `objective.ar_target: base`: full training keeps no base")};
}

Settings lora_settings(TrainConfig& config) {
  return {{"lora", settings_of(config.lora)},
          {"start_from", config.start_from,
           "an adapter to continue from, of the same shape; empty: a new one"}};
}

Settings base_settings(TrainConfig& config) {
  return {Setting("base", settings_of(config.base))
              .must([&config] { return !is_full(config) || config.base.is_resident(); },
                    "needs `mode: lora`: full training keeps no frozen base")};
}

Setting kind_setting(ObjectiveConfig& config) {
  return {"kind", config.kind, objective_kinds(), "the loss; each has settings of its own"};
}

Settings settings_of(MtpOptions& options) {
  return {
      Setting(
          "mask_tokens", options.mask_tokens,
          "ids of tokens that no text uses, one for each token that is predicted beyond the next")
          .must([&options] { return !options.mask_tokens.empty(); },
                "must be ids of tokens that no text uses, as [5, 6, 7]: one for each token that is "
                "predicted beyond the next"),
      {"places", options.places, between(0, kMost), "of a record, redrawn in each step; 0: all"},
      {"distance_decay", options.distance_decay, between(0, 1),
       "weight of a mask after `distance` others: decay^distance"}};
}

Settings settings_of(ConsistencyOptions& options, ObjectiveKind kind) {
  const std::vector<std::pair<std::string, ArTarget>> targets{{"labels", ArTarget::kLabels},
                                                              {"base", ArTarget::kBase}};
  const std::vector<std::pair<std::string, StateChoice>> states{
      {"random", StateChoice::kRandom}, {"progressive", StateChoice::kProgressive}};
  const std::vector<std::pair<std::string, BlockChoice>> blocks{{"one", BlockChoice::kOne},
                                                                {"every", BlockChoice::kEvery}};
  const Setting smoothing =
      Setting("label_smoothing", options.label_smoothing, between(0, 0.99), "of the cross-entropy")
          .must(
              [&options] {
                return options.ar_target != ArTarget::kBase || options.label_smoothing <= 0;
              },
              "needs `ar_target: labels`: the base is no label");
  if (kind == ObjectiveKind::kAutoregressive) return {smoothing};
  const Settings which{{"blocks", options.blocks, blocks, "of a record, in a step"}};
  return together({{smoothing,
                    {"ar_weight", options.ar_weight, between(0, 1e6),
                     "of the term that keeps the model's quality"},
                    {"consistency_weight", options.consistency_weight, between(0, 1e6),
                     "of the consistency loss"},
                    {"ar_target", options.ar_target, targets,
                     "cross-entropy with the dataset's tokens, or divergence from the model "
                     "without its adapter"},
                    {"states", options.states, states,
                     "which state of a block's trajectory is the noisy one: any, or by a rising "
                     "share of noise"}},
                   kind == ObjectiveKind::kCllm ? which : Settings(),
                   {{"states_per_block", options.states_per_block, between(1, kMost),
                     "distinct ones, of random states"},
                    {"distance_decay", options.distance_decay, between(0, 1),
                     "weight of a position by its distance from the first wrong one; 1: all equal"},
                    {"noise_window", options.noise_window, between(1, kMost),
                     "progressive: blocks from least noise to most"},
                    {"mean_over_blocks", options.mean_over_blocks,
                     "divides a record's consistency loss by its number of blocks"},
                    {"stop_tokens", options.stop_tokens, "ids; empty: the tokenizer's"}}});
}

Settings run_settings(TrainConfig& config) {
  const std::vector<std::pair<std::string, Compute>> computes{{"fp32", Compute::kFloat32},
                                                              {"bf16", Compute::kBFloat16}};
  const Setting::Special recompute{
      [&config](ConfigReader& reader) { read_recompute(reader, config.num_recomputed); },
      recompute_text(config.num_recomputed)};
  const std::vector<std::string> save_dtypes{"fp32", "bf16"};
  return together(
      {{Setting("dataset", config.dataset, "folder of the records").needed(),
        {"replay", config.replay, "datasets mixed in against forgetting"},
        {"held_out", config.held_out, "a dataset whose loss is measured; empty: none"},
        {"held_out_records", config.held_out_records, between(0, kMost),
         "only the first ones; 0: all"},
        {"batch_size", config.batch_size, between(1, kMost), "records of a micro-batch"},
        Setting("global_batch", config.global_batch, between(0, kMost),
                "records of a step, over all ranks together; 0: batch_size")
            .must(
                [&config] {
                  return config.batch_size >= 1 && config.global_batch % config.batch_size == 0;
                },
                "must be a multiple of batch_size"),
        Setting("max_steps", config.max_steps, between(0, kMost), "or epochs: how long it takes")
            .must([&config] { return (config.max_steps > 0) != (config.epochs > 0); },
                  "or `epochs` must be set, and not both"),
        {"epochs", config.epochs, between(0, 1e6), "passes over the dataset"},
        {"stop_at_step", config.stop_at_step, between(0, kMost),
         "pause there with a checkpoint, as a stop would; 0: never"}},
       optimizer_settings(config),
       {{"compute", config.compute, computes, "the type of matrix products"},
        Setting("recompute", recompute,
                "how many of the first layers the backward pass runs again, which saves memory and "
                "costs a quarter to a third of a step's time: none, all, a number, or auto: as "
                "many as the memory needs")
            .must(
                [&config] {
                  return config.base.is_resident() || config.num_recomputed == kAllLayers ||
                         config.num_recomputed == kAutoLayers;
                },
                "must be all or auto when `base` fetches the layers as they are used"),
        device_setting(config.device),
        threads_setting(config.threads),
        {"seed", config.seed, between(0, kMost), "of weights and order"},
        Setting("output", config.output, "folder of checkpoints and of the result, final/")
            .needed(),
        {"save_dtype", config.save_dtype, save_dtypes, "of the result"},
        {"save_every", config.save_every, between(1, kMost), "steps from checkpoint to checkpoint"},
        {"keep_last", config.keep_last, between(1, kMost), "of these"},
        {"eval_every", config.eval_every, between(0, kMost), "steps; 0: at the end only"},
        {"log_every", config.log_every, between(1, kMost), "steps"}}});
}

Settings watch_settings(TrainConfig& config) {
  WatchConfig& watch = config.watch;
  return {Setting("every", watch.every, between(0, kMost),
                  "steps, the model in training answers prompts; 0: never")
              .must(
                  [&config, &watch] {
                    return watch.every == 0 || config.objective.kind != ObjectiveKind::kMtp;
                  },
                  "must be 0 with `objective.kind: mtp`, which changes no answer")
              .must([&config, &watch] { return watch.every == 0 || !config.tokenizer.empty(); },
                    "must be 0 without `tokenizer`: the watch reads the answers"),
          Setting("dataset", watch.dataset,
                  "its first records' prompts; empty: those of the held-out records")
              .must(
                  [&config, &watch] {
                    return watch.every == 0 || !watch.dataset.empty() || !config.held_out.empty();
                  },
                  "or `held_out` must be set: the watch needs prompts"),
          {"records", watch.records, between(1, 4096), "at most"},
          {"max_new_tokens", watch.max_new_tokens, between(1, 4096), "of an answer"},
          {"block_size", watch.block_size, between(1, 4096), "of the Jacobi generator"}};
}

}  // namespace predgen::train

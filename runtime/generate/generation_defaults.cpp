#include "runtime/generate/generation_defaults.h"

#include <map>

#include "core/json.h"

namespace predgen {
namespace {

bool has_value(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && !json.at(key).is_null();
}

template <typename T>
std::optional<T> read_optional(const Json& json, const char* key, const std::string& where) {
  if (!has_value(json, key)) return std::nullopt;
  return json_get<T>(json, key, where);
}

/// Fields of transformers' GenerationConfig, and of GGUF files, that change what is drawn, with
/// their neutral values.
std::string find_not_honoured(const Json& json) {
  static const std::map<std::string, double> kNeutral{
      {"typical_p", 1},      {"epsilon_cutoff", 0},       {"eta_cutoff", 0},
      {"top_h", 0},          {"no_repeat_ngram_size", 0}, {"num_beams", 1},
      {"penalty_alpha", 0},  {"diversity_penalty", 0},    {"guidance_scale", 1},
      {"min_new_tokens", 0}, {"min_length", 0},           {"mirostat", 0},
      {"xtc_probability", 0}};
  for (const auto& [name, neutral] : kNeutral) {
    if (has_value(json, name.c_str()) && json.at(name) != neutral) return name;
  }
  for (const char* name :
       {"bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "sequence_bias",
        "forced_bos_token_id", "forced_eos_token_id", "exponential_decay_length_penalty"}) {
    if (has_value(json, name)) return name;
  }
  return "";
}

}  // namespace

Settings settings_of(AskedSampling& sampling) {
  return {
      {"temperature", sampling.temperature, between(0, 2), "draw tokens instead of the likeliest"},
      {"top_k", sampling.top_k, at_least(-1), "draw among the k likeliest tokens; 0: all"},
      {"top_p", sampling.top_p, between(0, 1),
       "draw among the likeliest tokens that together have probability p"},
      {"min_p", sampling.min_p, between(0, 1),
       "draw among tokens at least p times as likely as the likeliest"},
      {"repetition_penalty", sampling.repetition_penalty, between(0.01, 100),
       "above 1: tokens that stood before become less likely"},
      {"frequency_penalty", sampling.frequency_penalty, between(-2, 2),
       "subtracted from logits for each time that the answer has the token"},
      {"presence_penalty", sampling.presence_penalty, between(-2, 2), "the same, once"}};
}

std::optional<SamplingConfig> choose_sampling(const AskedSampling& asked,
                                              const GenerationDefaults& defaults) {
  const bool samples = asked.temperature || asked.top_k || asked.top_p || asked.min_p;
  SamplingConfig config;
  config.frequency_penalty = asked.frequency_penalty.value_or(0);
  config.presence_penalty = asked.presence_penalty.value_or(0);
  config.penalty_window = asked.penalty_window.value_or(-1);
  config.logit_bias = asked.logit_bias;
  if (!samples || asked.temperature == 0.0 || asked.top_p == 0.0) {
    config.repetition_penalty = asked.repetition_penalty.value_or(1.0);
    if (!config.changes_logits()) return std::nullopt;
    config.temperature = 0;
    config.validate();
    return config;
  }
  const auto choose = [](auto flag, auto in_file, auto& value) {
    value = flag.value_or(in_file.value_or(value));
  };
  choose(asked.repetition_penalty, defaults.repetition_penalty, config.repetition_penalty);
  choose(asked.temperature, defaults.temperature, config.temperature);
  choose(asked.top_k, defaults.top_k, config.top_k);
  choose(asked.top_p, defaults.top_p, config.top_p);
  choose(asked.min_p, defaults.min_p, config.min_p);
  config.seed = asked.seed;
  config.validate();
  return config;
}

GenerationDefaults read_generation_defaults(const GenerationSettings& settings) {
  const Json& json = settings.fields;
  const std::string& where = settings.where;
  return {.stop_tokens = settings.stop_tokens,
          .temperature = read_optional<double>(json, "temperature", where),
          .top_p = read_optional<double>(json, "top_p", where),
          .min_p = read_optional<double>(json, "min_p", where),
          .repetition_penalty = read_optional<double>(json, "repetition_penalty", where),
          .top_k = read_optional<int64_t>(json, "top_k", where),
          .not_honoured = find_not_honoured(json)};
}

}  // namespace predgen

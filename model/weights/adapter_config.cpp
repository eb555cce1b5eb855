#include "model/weights/adapter_config.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/text.h"

namespace predgen {
namespace {

std::optional<int64_t> parse_index(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && !text.starts_with('-') ? std::optional(value) : std::nullopt;
}

}  // namespace

LayerChoice LayerChoice::read(const Json& fields, const std::string& where) {
  LayerChoice choice;
  const Json layers = fields.value("layers_to_transform", Json());
  const Json patterns = fields.value("layers_pattern", Json());
  if (layers.is_null() && patterns.is_null()) return choice;
  if (layers.is_null()) {
    fail_json_key("layers_pattern", where, "needs \"layers_to_transform\"");
  }
  if (fields.value("target_modules", Json()).is_string()) {
    fail_json_key("layers_to_transform", where, "needs a list in \"target_modules\"");
  }
  if (layers.is_array()) {
    choice.layers_ = json_get<std::vector<int64_t>>(fields, "layers_to_transform", where);
  } else {
    choice.layers_ = std::vector{json_get<int64_t>(fields, "layers_to_transform", where)};
  }
  if (patterns.is_string()) {
    choice.names_ = {patterns.get<std::string>()};
  } else if (!patterns.is_null()) {
    choice.names_ = json_get<std::vector<std::string>>(fields, "layers_pattern", where);
  }
  for (const std::string& pattern : choice.names_) {
    const bool is_name =
        std::ranges::all_of(pattern, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!is_name || pattern.empty()) {
      throw UserError("{}: \"layers_pattern\": {} is not supported, only the name of a module",
                      where, Json(pattern).dump());
    }
  }
  return choice;
}

/// PEFT reads the index after the first of the names that occurs with one, or without names the
/// first number with at least two names before it.
bool LayerChoice::contains(const std::string& module) const {
  if (!layers_) return true;
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    parts.push_back(std::string_view(module).substr(begin, end - begin));
    begin = end + 1;
  }
  const auto chosen = [&](int64_t index) {
    return std::find(layers_->begin(), layers_->end(), index) != layers_->end();
  };
  for (const std::string& name : names_) {
    for (size_t i = 1; i + 1 < parts.size(); ++i) {
      const std::optional<int64_t> index = parse_index(parts[i]);
      if (index && parts[i - 1] == name) return chosen(*index);
    }
  }
  for (size_t i = 2; names_.empty() && i + 1 < parts.size(); ++i) {
    if (const std::optional<int64_t> index = parse_index(parts[i])) return chosen(*index);
  }
  return false;
}

namespace {

constexpr int64_t kMaxRank = 1 << 20;

/// Read here, or without effect on a forward pass.
const std::set<std::string> kHarmless{"peft_type",
                                      "peft_version",
                                      "task_type",
                                      "base_model_name_or_path",
                                      "revision",
                                      "r",
                                      "lora_alpha",
                                      "lora_dropout",
                                      "target_modules",
                                      "use_rslora",
                                      "rank_pattern",
                                      "alpha_pattern",
                                      "exclude_modules",
                                      "layers_to_transform",
                                      "layers_pattern",
                                      "auto_mapping",
                                      "inference_mode",
                                      "init_lora_weights",
                                      "bias",
                                      "mask_tokens",  // ours
                                      "megatron_core",
                                      "qalora_group_size",
                                      "runtime_config",
                                      "loftq_config",
                                      "ensure_weight_tying",
                                      "eva_config",
                                      "corda_config",
                                      "lora_ga_config"};

/// Kept as read, because their exact form (a list, a pattern) matters.
constexpr const char* kKept[] = {"exclude_modules", "layers_pattern", "layers_to_transform",
                                 "target_modules"};

bool is_empty(const Json& value) {
  return value.is_null() || value == Json(false) || value == Json("") ||
         (value.is_structured() && value.empty());
}

bool has(const Json& json, const char* key) { return json.contains(key) && !is_empty(json[key]); }

/// Initialisations that keep the base weights; pissa, olora, corda, loftq and lora_ga change them,
/// so that such an adapter is wrong on the original base.
bool keeps_base_weights(const Json& init) {
  return init.is_null() || init.is_boolean() || init == "gaussian" || init == "eva" ||
         init == "orthogonal";
}

void refuse_what_is_not_honoured(const Json& json, const std::string& where) {
  const auto refuse = [&](const std::string& key, const Json& value) {
    throw UserError("{}: \"{}\": {} is not supported", where, key, value.dump());
  };
  for (const auto& [key, value] : json.items()) {
    // Numbers and strings of fields that a later PEFT added are parameters of some switch.
    const bool is_switch = value.is_boolean() || value.is_structured();
    if (key == "modules_to_save") continue;  // read_whole_modules()
    if (!kHarmless.contains(key) && is_switch && !is_empty(value)) refuse(key, value);
  }
  // Not structured, but decisive.
  if (json.contains("bias") && json["bias"] != "none") refuse("bias", json["bias"]);
  if (json.contains("init_lora_weights") && !keeps_base_weights(json["init_lora_weights"])) {
    refuse("init_lora_weights", json["init_lora_weights"]);
  }
}

bool is_or_ends_in(const std::string& module, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return module == name || module.ends_with("." + name);
  });
}

/// In file order: the first key that matches a layer counts.
template <typename T>
std::vector<std::pair<std::string, T>> read_pattern(const Json& json, const char* key,
                                                    const std::string& where) {
  std::vector<std::pair<std::string, T>> pattern;
  if (!has(json, key)) return pattern;
  if (!json[key].is_object()) fail_json_key(key, where, "must map names to numbers");
  for (const auto& [name, value] : json[key].items()) {
    if (!(std::is_integral_v<T> ? value.is_number_integer() : value.is_number())) {
      fail_json_key(key, where,
                    fmt::format("\"{}\" must be {}", name,
                                std::is_integral_v<T> ? "an integer" : "a number"));
    }
    pattern.emplace_back(name, value.template get<T>());
  }
  return pattern;
}

/// The value of the first key that matches the layer.
template <typename Patterns, typename T>
T value_for(const std::string& module, const Patterns& patterns, T otherwise) {
  for (const auto& [pattern, value] : patterns) {
    if (pattern->matches(module)) return value;
  }
  return otherwise;
}

/// Whole numbers without a decimal point, as PEFT writes them.
Json number_json(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? Json(static_cast<int64_t>(value)) : Json(value);
}

template <typename T>
Json pattern_json(const std::vector<std::pair<std::string, T>>& pattern) {
  Json json = Json::object();
  for (const auto& [key, value] : pattern) json[key] = number_json(static_cast<double>(value));
  return json;
}

}  // namespace

AdapterConfig::AdapterConfig(LoraConfig config) : AdapterConfig(std::move(config), "LoRA") {
  all_linear_ = lora.target_modules == std::vector<std::string>{kAllLinear};
}

AdapterConfig::AdapterConfig(LoraConfig config, const std::string& where)
    : lora(std::move(config)) {
  const auto compile = [&](const char* key, const auto& pattern, auto& compiled) {
    for (const auto& [name, value] : pattern) {
      compiled.emplace_back(std::make_shared<NamePattern>(NamePattern::of_end(name, key, where)),
                            value);
    }
  };
  compile("rank_pattern", lora.rank_pattern, ranks_);
  compile("alpha_pattern", lora.alpha_pattern, alphas_);
  for (const auto& [name, rank] : lora.rank_pattern) {
    if (rank < 1 || rank > kMaxRank) {
      fail_json_key("rank_pattern", where, "its ranks must be positive integers");
    }
  }
}

AdapterConfig AdapterConfig::from_json(const Json& json, const std::string& where) {
  if (const auto type = json_get<std::string>(json, "peft_type", where); type != "LORA") {
    throw UserError("{}: \"peft_type\": \"{}\" is not supported, only \"LORA\"", where, type);
  }
  refuse_what_is_not_honoured(json, where);
  LoraConfig lora;
  // PEFT omits nothing, but its defaults apply if a hand-written file does.
  lora.rank = 8;
  if (json.contains("r")) lora.rank = json["r"].is_number_integer() ? json["r"].get<int64_t>() : 0;
  if (lora.rank < 1 || lora.rank > kMaxRank) {
    fail_json_key("r", where, "must be a positive integer");
  }
  lora.alpha = json.contains("lora_alpha") ? json_get<double>(json, "lora_alpha", where) : 8.0;
  lora.dropout =
      json.contains("lora_dropout") ? json_get<double>(json, "lora_dropout", where) : 0.0;
  if (!(lora.dropout >= 0.0 && lora.dropout < 1.0)) {
    fail_json_key("lora_dropout", where, "must be in [0, 1)");
  }
  if (json.contains("base_model_name_or_path") && json["base_model_name_or_path"].is_string()) {
    lora.base_model = json["base_model_name_or_path"].get<std::string>();
  }
  lora.use_rslora = has(json, "use_rslora") && json_get<bool>(json, "use_rslora", where);
  lora.rank_pattern = read_pattern<int64_t>(json, "rank_pattern", where);
  lora.alpha_pattern = read_pattern<double>(json, "alpha_pattern", where);
  if (has(json, "mask_tokens")) {
    lora.mask_tokens = json_get<std::vector<TokenId>>(json, "mask_tokens", where);
  }
  AdapterConfig config(std::move(lora), where);
  for (const char* key : kKept) {
    if (has(json, key)) config.fields_[key] = json[key];
  }
  config.read_whole_modules(json, where);
  config.read_targets(where);
  config.layers_ = LayerChoice::read(config.fields_, where);
  return config;
}

void AdapterConfig::read_whole_modules(const Json& json, const std::string& where) {
  if (!has(json, "modules_to_save")) return;
  whole_modules = json_get<std::vector<std::string>>(json, "modules_to_save", where);
  for (const std::string& name : whole_modules) {
    if (!is_or_ends_in(name, {"embed_tokens", "lm_head"})) {
      throw UserError("{}: \"modules_to_save\": {} is not supported, only embed_tokens and lm_head",
                      where, Json(name).dump());
    }
  }
  ensures_tying =
      has(json, "ensure_weight_tying") && json_get<bool>(json, "ensure_weight_tying", where);
}

void AdapterConfig::read_targets(const std::string& where) {
  const Json targets = fields_.value("target_modules", Json());
  lora.target_modules.clear();
  if (targets.is_string()) {
    all_linear_ = lower_ascii(targets.get<std::string>()) == kAllLinear;
    if (!all_linear_) {
      target_pattern_ =
          std::make_shared<NamePattern>(targets.get<std::string>(), "target_modules", where);
    }
  } else {
    if (targets.is_null()) fail_json_key("target_modules", where, "is missing or empty");
    lora.target_modules = json_get<std::vector<std::string>>(fields_, "target_modules", where);
  }
  const Json excluded = fields_.value("exclude_modules", Json());
  if (excluded.is_string()) {
    exclude_pattern_ =
        std::make_shared<NamePattern>(excluded.get<std::string>(), "exclude_modules", where);
  } else if (!excluded.is_null()) {
    exclude_modules_ = json_get<std::vector<std::string>>(fields_, "exclude_modules", where);
  }
}

bool AdapterConfig::matches(const std::string& module) const {
  if (exclude_pattern_ && exclude_pattern_->matches(module)) return false;
  if (is_or_ends_in(module, exclude_modules_)) return false;
  if (target_pattern_) return target_pattern_->matches(module);
  if (all_linear_) return true;
  const std::vector<std::string>& targets = lora.target_modules;
  if (std::find(targets.begin(), targets.end(), module) != targets.end()) return true;
  return is_or_ends_in(module, targets) && layers_.contains(module);
}

int64_t AdapterConfig::rank(const std::string& module) const {
  return value_for(module, ranks_, lora.rank);
}

double AdapterConfig::scaling(const std::string& module) const {
  const auto r = static_cast<double>(rank(module));
  return value_for(module, alphas_, lora.alpha) / (lora.use_rslora ? std::sqrt(r) : r);
}

Json AdapterConfig::to_json() const {
  std::vector<std::string> targets = lora.target_modules;
  std::sort(targets.begin(), targets.end());
  const Json null, nothing = Json::object();
  Json json{{"alpha_pattern", pattern_json(lora.alpha_pattern)},
            {"auto_mapping", null},
            {"base_model_name_or_path", lora.base_model.empty() ? null : Json(lora.base_model)},
            {"bias", "none"},
            {"exclude_modules", null},
            {"fan_in_fan_out", false},
            {"inference_mode", true},
            {"init_lora_weights", true},
            {"layer_replication", null},
            {"layers_pattern", null},
            {"layers_to_transform", null},
            {"loftq_config", nothing},
            {"lora_alpha", number_json(lora.alpha)},
            {"lora_dropout", lora.dropout},
            {"megatron_config", null},
            {"megatron_core", "megatron.core"},
            {"modules_to_save", null},
            {"peft_type", "LORA"},
            {"r", lora.rank},
            {"rank_pattern", pattern_json(lora.rank_pattern)},
            {"revision", null},
            {"target_modules", all_linear_ ? Json(kAllLinear) : Json(targets)},
            {"task_type", "CAUSAL_LM"},
            {"use_dora", false},
            {"use_rslora", lora.use_rslora}};
  if (!lora.mask_tokens.empty()) json["mask_tokens"] = lora.mask_tokens;
  json.update(fields_);
  // A field added later than the others; older versions would not know it.
  if (!fields_.contains("exclude_modules")) json.erase("exclude_modules");
  return json;
}

}  // namespace predgen

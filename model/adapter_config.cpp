#include "model/adapter_config.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"

namespace predgen {
namespace {

/// Read here, or without influence on a forward pass.
const std::set<std::string> kHarmless{"peft_type",         "peft_version",
                                      "task_type",         "base_model_name_or_path",
                                      "revision",          "r",
                                      "lora_alpha",        "lora_dropout",
                                      "target_modules",    "use_rslora",
                                      "auto_mapping",      "inference_mode",
                                      "init_lora_weights", "bias",
                                      "megatron_core",     "qalora_group_size",
                                      "runtime_config",    "ensure_weight_tying",
                                      "loftq_config",      "corda_config",
                                      "eva_config",        "lora_ga_config"};

bool is_empty(const Json& value) {
  return value.is_null() || value == Json(false) || (value.is_structured() && value.empty());
}

/// Initialisations that leave the base weights alone; pissa, olora, corda, loftq and lora_ga change
/// them, so that such an adapter is wrong on the original base.
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
    if (!kHarmless.contains(key) && is_switch && !is_empty(value)) refuse(key, value);
  }
  // Not structured, but decisive.
  for (const char* key : {"layers_to_transform", "layers_pattern", "exclude_modules"}) {
    if (json.contains(key) && !is_empty(json[key])) refuse(key, json[key]);
  }
  if (json.contains("bias") && json["bias"] != "none") refuse("bias", json["bias"]);
  if (json.contains("init_lora_weights") && !keeps_base_weights(json["init_lora_weights"])) {
    refuse("init_lora_weights", json["init_lora_weights"]);
  }
}

}  // namespace

AdapterConfig AdapterConfig::from_json(const Json& json, const std::string& where) {
  if (const auto type = json_get<std::string>(json, "peft_type", where); type != "LORA") {
    throw UserError("{}: \"peft_type\": \"{}\" is not supported, only \"LORA\"", where, type);
  }
  refuse_what_is_not_honoured(json, where);
  AdapterConfig config;
  LoraConfig& lora = config.lora;
  // PEFT leaves out nothing, but its own defaults count when a hand-written file does.
  lora.rank = json.contains("r") ? json_get<int64_t>(json, "r", where) : 8;
  if (lora.rank < 1 || (json.contains("r") && !json["r"].is_number_integer())) {
    fail_json_key("r", where, "must be a positive integer");
  }
  lora.alpha = json.contains("lora_alpha") ? json_get<double>(json, "lora_alpha", where) : 8.0;
  lora.dropout =
      json.contains("lora_dropout") ? json_get<double>(json, "lora_dropout", where) : 0.0;
  if (!(lora.dropout >= 0.0 && lora.dropout < 1.0)) {
    fail_json_key("lora_dropout", where, "must be in [0, 1)");
  }
  if (json.contains("use_rslora") && json_get<bool>(json, "use_rslora", where)) {
    lora.alpha *= std::sqrt(static_cast<double>(lora.rank));  // alpha / sqrt(r) = this / r
  }
  if (json.contains("base_model_name_or_path") && json["base_model_name_or_path"].is_string()) {
    lora.base_model = json["base_model_name_or_path"].get<std::string>();
  }
  const Json targets = json.contains("target_modules") ? json["target_modules"] : Json();
  if (targets == "all-linear") {
    config.all_linear = true;
  } else if (targets.is_string()) {
    config.target_pattern = targets.get<std::string>();
    config.compiled_pattern_ =
        std::make_shared<Regex>("\\A(?:" + config.target_pattern + ")\\z", Regex::Syntax::kPattern,
                                where + ": \"target_modules\"");
    lora.target_modules.clear();
  } else {
    lora.target_modules = json_get<std::vector<std::string>>(json, "target_modules", where);
    if (lora.target_modules.empty()) fail_json_key("target_modules", where, "is empty");
  }
  return config;
}

bool AdapterConfig::matches(const std::string& module) const {
  if (all_linear) return true;
  if (compiled_pattern_) return !compiled_pattern_->find_all(module).empty();
  return std::any_of(lora.target_modules.begin(), lora.target_modules.end(),
                     [&](const std::string& target) {
                       return module == target || module.ends_with("." + target);
                     });
}

nlohmann::json adapter_config_to_json(const LoraConfig& config) {
  const auto number = [](double value) {
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    return whole ? nlohmann::json(static_cast<int64_t>(value)) : nlohmann::json(value);
  };
  std::vector<std::string> targets = config.target_modules;
  std::sort(targets.begin(), targets.end());
  const nlohmann::json null, nothing = nlohmann::json::object();
  return {{"alpha_pattern", nothing},
          {"auto_mapping", null},
          {"base_model_name_or_path",
           config.base_model.empty() ? null : nlohmann::json(config.base_model)},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"inference_mode", true},
          {"init_lora_weights", true},
          {"layer_replication", null},
          {"layers_pattern", null},
          {"layers_to_transform", null},
          {"loftq_config", nothing},
          {"lora_alpha", number(config.alpha)},
          {"lora_dropout", config.dropout},
          {"megatron_config", null},
          {"megatron_core", "megatron.core"},
          {"modules_to_save", null},
          {"peft_type", "LORA"},
          {"r", config.rank},
          {"rank_pattern", nothing},
          {"revision", null},
          {"target_modules", targets},
          {"task_type", "CAUSAL_LM"},
          {"use_dora", false},
          {"use_rslora", false}};
}

}  // namespace predgen

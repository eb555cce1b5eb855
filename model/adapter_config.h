#pragma once

#include <memory>
#include <string>

#include "core/json.h"
#include "model/lora.h"
#include "model/regex.h"

namespace predgen {

/// adapter_config.json of a PEFT folder.
struct AdapterConfig {
  LoraConfig lora;             // alpha such that the scaling is alpha / rank, for rsLoRA too
  std::string target_pattern;  // a regular expression over whole module names, or empty
  bool all_linear = false;     // every linear layer but the output head

  /// UserError names the field that this program does not honour.
  static AdapterConfig from_json(const Json& json, const std::string& where);
  /// Whether the layer named `module` carries an adapter, by PEFT's rules.
  bool matches(const std::string& module) const;

 private:
  std::shared_ptr<const Regex> compiled_pattern_;
};

/// The fields that every PEFT since 0.8 reads, sorted.
nlohmann::json adapter_config_to_json(const LoraConfig& config);

}  // namespace predgen

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "model/weights/lora.h"
#include "text/regex.h"

namespace predgen {

/// A pattern of Python's re that must match the whole of a module's name. Names are ASCII; the
/// syntax such patterns use means the same in PCRE2.
class NamePattern {
 public:
  NamePattern(const std::string& pattern, const char* key, const std::string& where)
      : regex_(pattern, Regex::Syntax::kWholeName, fmt::format("{}: \"{}\"", where, key)) {}

  /// A key of PEFT's "rank_pattern" or "alpha_pattern": the name, or its end after a dot.
  static NamePattern of_end(const std::string& pattern, const char* key, const std::string& where) {
    return {"(.*\\.)?(" + pattern + ")", key, where};
  }

  bool matches(const std::string& name) const {
    Regex::Match match;
    return regex_.find(name, 0, match);
  }

 private:
  Regex regex_;
};

/// "layers_to_transform" and "layers_pattern" of PEFT's adapter_config.json: the indices of the
/// blocks whose layers carry an adapter.
class LayerChoice {
 public:
  LayerChoice() = default;  // all
  /// `fields` without null and empty values. UserError names the field that is wrong or not
  /// supported.
  static LayerChoice read(const Json& fields, const std::string& where);

  bool contains(const std::string& module) const;

 private:
  std::optional<std::vector<int64_t>> layers_;
  std::vector<std::string> names_;  // of the modules that hold the blocks; empty: any
};

class NamePattern;

/// adapter_config.json of a PEFT folder: which layers carry an adapter, with what rank and scaling.
class AdapterConfig {
 public:
  /// For an adapter made by training. UserError for an invalid pattern.
  AdapterConfig(LoraConfig lora);  // NOLINT(google-explicit-constructor): it is one
  /// UserError names the field that this program does not support.
  static AdapterConfig from_json(const Json& json, const std::string& where);
  /// The fields that every PEFT since 0.8 reads, sorted, plus any later ones that were
  /// read.
  Json to_json() const;

  /// Whether the layer named `module` carries an adapter, by PEFT's rules.
  bool matches(const std::string& module) const;
  int64_t rank(const std::string& module) const;
  double scaling(const std::string& module) const;

  /// `r`, `lora_alpha`, `target_modules` (empty for a pattern or "all-linear") and so on.
  LoraConfig lora;
  /// "modules_to_save": the embeddings or the head, which the folder then holds in full.
  std::vector<std::string> whole_modules;
  bool ensures_tying = false;  // "ensure_weight_tying": stay tied if the model's are
  /// Type of the stored weights: float32, bfloat16 or float16.
  at::ScalarType dtype = at::kFloat;

 private:
  using SharedPattern = std::shared_ptr<const NamePattern>;

  AdapterConfig(LoraConfig lora, const std::string& where);
  void read_whole_modules(const Json& json, const std::string& where);
  void read_targets(const std::string& where);

  Json fields_ = Json::object();  // as read; written back unchanged
  bool all_linear_ = false;
  SharedPattern target_pattern_, exclude_pattern_;
  std::vector<std::string> exclude_modules_;
  LayerChoice layers_;
  std::vector<std::pair<SharedPattern, int64_t>> ranks_;
  std::vector<std::pair<SharedPattern, double>> alphas_;
};

}  // namespace predgen

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
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

}  // namespace predgen

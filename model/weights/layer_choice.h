#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace predgen {

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

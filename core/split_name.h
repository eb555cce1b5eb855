#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace predgen {

/// The name of a part of a model that is split into files: "<prefix>-00001-of-00003.gguf".
struct SplitName {
  std::string prefix;
  int64_t number, count;

  /// The name of another part.
  std::string part(int64_t other) const;
};

/// Nothing for the name of another file.
std::optional<SplitName> parse_split_name(const std::string& name);

}  // namespace predgen

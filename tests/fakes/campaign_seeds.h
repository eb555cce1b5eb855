#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace predgen {

/// The seeds of a campaign, [begin, end): `usual` of them; as many as the environment's <name>S
/// says; or that one alone which <name> names.
inline std::pair<uint64_t, uint64_t> campaign_seeds(const std::string& name, uint64_t usual) {
  const auto number = [](const std::string& variable) -> std::optional<uint64_t> {
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) return std::nullopt;
    return std::strtoull(value, nullptr, 10);
  };
  if (const auto seed = number(name)) return {*seed, *seed + 1};
  return {0, number(name + "S").value_or(usual)};
}

}  // namespace predgen

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace predgen {

// How configurations spell single values. T: bool, int64_t, double, std::string, path.

/// None if `text` does not spell a T. UserError: a path with an unset variable.
template <typename T>
std::optional<T> parse_value(const std::string& text, bool quoted);

/// Describes a T, for messages.
template <typename T>
const char* value_kind();

std::string quoted_yaml(const std::string& text);

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

template <typename T>
struct IsMapping : std::false_type {};
template <typename T>
struct IsMapping<std::vector<std::pair<std::string, T>>> : std::true_type {};

template <typename T>
std::string value_yaml(const T& value) {
  if constexpr (IsMapping<T>::value) {
    std::vector<std::string> entries;
    for (const auto& [key, item] : value) {
      entries.push_back(fmt::format("{}: {}", quoted_yaml(key), value_yaml(item)));
    }
    return fmt::format("{{{}}}", fmt::join(entries, ", "));
  } else if constexpr (IsVector<T>::value) {
    std::vector<std::string> items;
    for (const auto& item : value) items.push_back(value_yaml(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return quoted_yaml(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return quoted_yaml(value.string());
  } else {
    return fmt::format("{}", value);
  }
}

template <typename T>
std::string bounds_text(T lowest, T highest) {
  const bool below = lowest <= std::numeric_limits<T>::lowest();  // or minus infinity
  const bool above = highest >= std::numeric_limits<T>::max();
  if (below) return fmt::format("must be at most {}", highest);
  if (above) return fmt::format("must be at least {}", lowest);
  return fmt::format("must be between {} and {}", lowest, highest);
}

}  // namespace predgen

#include "tensors/gguf_metadata.h"

#include <charconv>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

using List = GgufMetadata::List;
using Value = GgufMetadata::Value;

/// The kind of a list's values, for messages.
std::string_view kinds(GgufValueType type) {
  switch (type) {
    case GgufValueType::kString:
      return "strings";
    case GgufValueType::kBool:
      return "booleans";
    case GgufValueType::kFloat32:
    case GgufValueType::kFloat64:
      return "floating-point numbers";
    default:
      return "whole numbers";
  }
}

std::string kind(const Value& value) {
  if (std::holds_alternative<bool>(value)) return "a boolean";
  if (std::holds_alternative<double>(value)) return "a floating-point number";
  if (std::holds_alternative<std::string>(value)) return "a string";
  if (const auto* list = std::get_if<List>(&value)) {
    return fmt::format("a list of {}", kinds(static_cast<GgufValueType>(list->type)));
  }
  return "a whole number";
}

template <typename T>
constexpr std::string_view kWanted = "a string";
template <>
constexpr std::string_view kWanted<bool> = "a boolean";
template <>
constexpr std::string_view kWanted<int64_t> = "a whole number";
template <>
constexpr std::string_view kWanted<double> = "a number";
template <>
constexpr std::string_view kWanted<std::vector<int64_t>> = "a list of whole numbers";
template <>
constexpr std::string_view kWanted<std::vector<double>> = "a list of numbers";
template <>
constexpr std::string_view kWanted<std::vector<std::string>> = "a list of strings";

/// None if the value is of another type, or does not fit.
template <typename T>
std::optional<T> converted(const Value& value) {
  if (const auto* same = std::get_if<T>(&value)) return *same;
  if constexpr (std::is_same_v<T, double>) {
    if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* large = std::get_if<uint64_t>(&value)) return static_cast<double>(*large);
  }
  return std::nullopt;
}

template <typename Stored, typename T>
bool append(const List& list, std::vector<T>& to) {
  for (uint64_t i = 0; i < list.count; ++i) {
    Stored value;
    std::memcpy(&value, list.bytes.data() + i * sizeof value, sizeof value);
    if constexpr (std::is_integral_v<T> && std::is_integral_v<Stored>) {
      if (!std::in_range<T>(value)) return false;
    }
    to.push_back(static_cast<T>(value));
  }
  return true;
}

bool append_strings(const List& list, std::vector<std::string>& to) {
  std::string_view left = list.bytes;
  for (uint64_t i = 0; i < list.count; ++i) {
    uint64_t length = 0;
    std::memcpy(&length, left.data(), sizeof length);
    to.emplace_back(left.substr(sizeof length, length));
    left.remove_prefix(sizeof length + length);
  }
  return true;
}

/// False if the list holds values of another type, or one that does not fit.
template <typename T>
bool append_all(const List& list, std::vector<T>& to) {
  const auto type = static_cast<GgufValueType>(list.type);
  to.reserve(list.count);
  if constexpr (std::is_same_v<T, std::string>) {
    return type == GgufValueType::kString && append_strings(list, to);
  } else {
    switch (type) {
      case GgufValueType::kUint8:
      case GgufValueType::kBool:
        return append<uint8_t>(list, to);
      case GgufValueType::kInt8:
        return append<int8_t>(list, to);
      case GgufValueType::kUint16:
        return append<uint16_t>(list, to);
      case GgufValueType::kInt16:
        return append<int16_t>(list, to);
      case GgufValueType::kUint32:
        return append<uint32_t>(list, to);
      case GgufValueType::kInt32:
        return append<int32_t>(list, to);
      case GgufValueType::kUint64:
        return append<uint64_t>(list, to);
      case GgufValueType::kInt64:
        return append<int64_t>(list, to);
      case GgufValueType::kFloat32:
        return std::is_same_v<T, double> && append<float>(list, to);
      case GgufValueType::kFloat64:
        return std::is_same_v<T, double> && append<double>(list, to);
      default:
        return false;
    }
  }
}

template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = true;

}  // namespace

const GgufMetadata::Value& GgufMetadata::value(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw UserError("{}: metadata key \"{}\" is missing", where_, key);
  return found->second;
}

std::vector<std::string> GgufMetadata::keys(std::string_view prefix) const {
  std::vector<std::string> found;
  for (auto one = values_.lower_bound(prefix); one != values_.end(); ++one) {
    if (!one->first.starts_with(prefix)) break;
    found.push_back(one->first);
  }
  return found;
}

uint64_t GgufMetadata::count(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return 0;
  const auto* list = std::get_if<List>(&found->second);
  return list ? list->count : 0;
}

template <typename T>
T GgufMetadata::get(std::string_view key) const {
  const Value& found = value(key);
  if constexpr (kIsList<T>) {
    T values;
    const auto* list = std::get_if<List>(&found);
    if (list && append_all(*list, values)) return values;
  } else if (std::optional<T> result = converted<T>(found)) {
    return *std::move(result);
  }
  const std::string found_kind = kind(found);
  if (found_kind == kWanted<T>) {
    throw UserError("{}: metadata key \"{}\" is {}, too large for int64", where_, key, found_kind);
  }
  throw UserError("{}: metadata key \"{}\" is {}, not {}", where_, key, found_kind, kWanted<T>);
}

double GgufMetadata::decimal(std::string_view key) const {
  const double stored = get<double>(key);
  const std::string digits = fmt::format("{}", static_cast<float>(stored));
  double meant = stored;
  std::from_chars(digits.data(), digits.data() + digits.size(), meant);
  return meant;
}

template bool GgufMetadata::get(std::string_view key) const;
template int64_t GgufMetadata::get(std::string_view key) const;
template double GgufMetadata::get(std::string_view key) const;
template std::string GgufMetadata::get(std::string_view key) const;
template std::vector<int64_t> GgufMetadata::get(std::string_view key) const;
template std::vector<double> GgufMetadata::get(std::string_view key) const;
template std::vector<std::string> GgufMetadata::get(std::string_view key) const;

}  // namespace predgen

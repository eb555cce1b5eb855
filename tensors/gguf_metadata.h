#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace predgen {

/// The types of values in GGUF metadata, by their numbers in files.
enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kList = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

/// 0 for strings, lists and unknown types.
constexpr size_t value_bytes(GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
    case GgufValueType::kInt8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kUint16:
    case GgufValueType::kInt16:
      return 2;
    case GgufValueType::kUint32:
    case GgufValueType::kInt32:
    case GgufValueType::kFloat32:
      return 4;
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
    case GgufValueType::kFloat64:
      return 8;
    case GgufValueType::kString:
    case GgufValueType::kList:
      break;
  }
  return 0;
}

/// The key-value pairs of a GGUF file (v2 and v3, little-endian), each checked to lie inside it.
/// Lists stay in the mapped file until requested. Thread-safe.
class GgufMetadata {
 public:
  /// A list of values of one type, as stored in the file.
  struct List {
    uint32_t type = 0;  // as GGUF numbers them
    uint64_t count = 0;
    std::string_view bytes;
  };
  using Value = std::variant<bool, int64_t, uint64_t, double, std::string, List>;

  /// `where`: the file, for messages. `owner` keeps the bytes of lists alive.
  GgufMetadata(std::map<std::string, Value, std::less<>> values, std::string where,
               std::shared_ptr<const void> owner)
      : values_(std::move(values)), where_(std::move(where)), owner_(std::move(owner)) {}

  const std::string& where() const { return where_; }
  bool contains(std::string_view key) const { return values_.contains(key); }
  /// Those that begin with `prefix`, in order.
  std::vector<std::string> keys(std::string_view prefix) const;
  /// How many values a list has; 0 if there is none.
  uint64_t count(std::string_view key) const;

  /// T: bool, int64_t, double (of integers, too), std::string, or a std::vector of int64_t (of
  /// booleans, too), double or std::string. UserError naming the file and the key that is missing
  /// or has another type.
  template <typename T>
  T get(std::string_view key) const;
  /// `otherwise` if the key is missing.
  template <typename T>
  T get_or(std::string_view key, T otherwise) const {
    return contains(key) ? get<T>(key) : otherwise;
  }
  template <typename T>
  std::optional<T> find(std::string_view key) const {
    return contains(key) ? std::optional<T>(get<T>(key)) : std::nullopt;
  }
  /// The intended number: 1e-5 stored in float32 is 9.99999975e-06.
  double decimal(std::string_view key) const;

 private:
  const Value& value(std::string_view key) const;

  const std::map<std::string, Value, std::less<>> values_;
  const std::string where_;
  const std::shared_ptr<const void> owner_;
};

}  // namespace predgen

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace predgen {

/// Reads a YAML file into structs whose fields hold the defaults. Strict: unknown and duplicate
/// keys, wrong types and bad overrides are collected, each with file:line and the nearest valid
/// key, and finish() throws them all in one UserError.
///
///   ConfigReader reader = ConfigReader::load(file, {"seed=7", "lora.rank=8"});
///   reader.optional("seed", config.seed);
///   ConfigReader lora = reader.section("lora");
///   lora.optional("rank", config.lora.rank, 1, 1024);
///   reader.finish();
class ConfigReader {
 public:
  /// Overrides are key.sub=value, split at the first '='; they may add keys. key=null takes one out
  /// of the file: its default counts. For numbers, so does key= .
  static ConfigReader load(const std::filesystem::path& file,
                           const std::vector<std::string>& overrides = {});
  static ConfigReader parse(const std::string& yaml, const std::string& name,
                            const std::vector<std::string>& overrides = {});

  // T: bool, int64_t, double, std::string, std::filesystem::path (${NAME:-default} is
  // expanded), std::vector of these, and for a mapping with user-defined keys a std::vector of
  // pairs of key and int64_t or double, in file order. Integers are decimal; 010 and 1_000 are
  // errors.
  template <typename T>
  void optional(const std::string& key, T& value);
  template <typename T>
  void required(const std::string& key, T& value);
  /// With inclusive bounds.
  template <typename T>
  void optional(const std::string& key, T& value, T lowest, T highest);

  /// One word of a list.
  template <typename E>
  void choice(const std::string& key, E& value,
              const std::vector<std::pair<std::string, E>>& choices);

  /// Reads what a file or override calls `old` as `key`, for files of older versions. Where both
  /// are there, an override counts; else `old` is unknown.
  void accept_old_name(const std::string& old, const std::string& key);

  bool has(const std::string& key) const;
  /// Whether the value of `key` is a scalar, not a list or mapping.
  bool is_single(const std::string& key) const;
  /// The mapping under `key`; empty if absent. Shares this reader's list of problems.
  ConfigReader section(const std::string& key);

  /// Records a problem that the caller found with the value of `key`.
  void problem(const std::string& key, const std::string& message);

  /// Call once on the outermost reader, after reading everything.
  void finish();

  /// Everything read, defaults included, as YAML; for the run's folder.
  std::string resolved() const;
  /// Every value that was read, as YAML, by its full key ("lora.rank").
  std::map<std::string, std::string> values() const;

 private:
  struct Document;
  struct Node;
  ConfigReader(std::shared_ptr<Document> document, std::shared_ptr<Node> node);
  std::string choose(const std::string& key, const std::string& current,
                     const std::vector<std::string>& names);

  std::shared_ptr<Document> document_;
  std::shared_ptr<Node> node_;
};

template <typename E>
void ConfigReader::choice(const std::string& key, E& value,
                          const std::vector<std::pair<std::string, E>>& choices) {
  std::vector<std::string> names;
  std::string current;
  for (const auto& [name, choice_value] : choices) {
    names.push_back(name);
    if (choice_value == value) current = name;
  }
  const std::string chosen = choose(key, current, names);
  for (const auto& [name, choice_value] : choices) {
    if (name == chosen) value = choice_value;
  }
}

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

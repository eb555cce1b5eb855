#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/config.h"

namespace predgen {

/// One function of several, for std::visit.
template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

struct Setting;
using Settings = std::vector<Setting>;

/// What a number may be, both ends included.
template <typename T>
struct Bounds {
  T lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();
};

/// Bounds of numbers of any type.
template <typename Low, typename High>
struct Between {
  Low low;
  High high;
  template <typename T>
  operator Bounds<T>() const {
    return {static_cast<T>(low), static_cast<T>(high)};
  }
};
template <typename Low, typename High>
Between<Low, High> between(Low low, High high) {
  return {low, high};
}
template <typename Low>
struct AtLeast {
  Low low;
  template <typename T>
  operator Bounds<T>() const {
    return {.lowest = static_cast<T>(low)};
  }
};
template <typename Low>
AtLeast<Low> at_least(Low low) {
  return {low};
}

/// One setting: its name, where its value is (at first the default), what it may be, and what it
/// means. This is its only declaration: readers of YAML, flags with their help, and
/// docs/settings.md are made from it.
///
///   Settings settings_of(Limits& limits) {
///     return {{"connections", limits.connections, between(1, 4096), "at a time"},
///             Setting("host", limits.host, "address to listen at").as("--host")};
///   }
struct Setting {
  template <typename T>
  struct Number {
    T* value = nullptr;
    std::optional<T>* maybe = nullptr;  // instead: a number that may be absent
    Bounds<T> bounds{};
  };
  /// One of several words.
  struct Word {
    std::vector<std::string> names;
    std::function<size_t()> get;
    std::function<void(size_t)> set;
  };
  /// What no other place can read.
  struct Special {
    std::function<void(ConfigReader&)> read;
    std::string value;  // now, as YAML
  };
  using Place =
      std::variant<bool*, Number<int64_t>, Number<double>, uint64_t*, std::string*,
                   std::optional<std::string>*, std::filesystem::path*, std::vector<std::string>*,
                   std::vector<std::filesystem::path>*, std::vector<int64_t>*, std::vector<double>*,
                   std::vector<std::pair<std::string, int64_t>>*,
                   std::vector<std::pair<std::string, double>>*, Word, Special, Settings>;

  Setting(std::string called, Place at, std::string meaning)
      : name(std::move(called)), help(std::move(meaning)), place(std::move(at)) {}
  Setting(std::string called, const Special& special, std::string meaning)
      : Setting(std::move(called), Place(special), std::move(meaning)) {}
  template <typename T>
  Setting(std::string called, T& value, std::string meaning)
      : Setting(std::move(called), place_of(value), std::move(meaning)) {}
  template <typename T>
  Setting(std::string called, T& value, std::type_identity_t<Bounds<T>> bounds, std::string meaning)
      : Setting(std::move(called), Number<T>{.value = &value, .maybe = nullptr, .bounds = bounds},
                std::move(meaning)) {}
  template <typename T>
  Setting(std::string called, std::optional<T>& value, std::type_identity_t<Bounds<T>> bounds,
          std::string meaning)
      : Setting(std::move(called), Number<T>{.value = nullptr, .maybe = &value, .bounds = bounds},
                std::move(meaning)) {}
  /// One of `words`.
  Setting(std::string called, std::string& value, const std::vector<std::string>& words,
          std::string meaning);
  /// One of `choices`, which have names.
  template <typename E>
  Setting(std::string called, E& value, const std::vector<std::pair<std::string, E>>& choices,
          std::string meaning)
      : Setting(std::move(called), word_of(value, choices), std::move(meaning)) {}
  /// A section.
  Setting(std::string called, Settings settings)
      : Setting(std::move(called), std::move(settings), "") {}

  /// It must be given.
  Setting needed() const;
  /// Once all settings beside it are read, `holds` must be true; if not, `why` is the problem.
  Setting must(std::function<bool()> holds, std::string why) const;
  /// `problem` says then what is wrong with it; empty: nothing.
  Setting checked(std::function<std::string()> problem) const;
  /// Its flag, where it is not --the-name; names of one flag are split by commas.
  Setting as(std::string flag_names) const;

  std::string flag_names() const;
  /// As YAML.
  std::string value() const;
  /// What it may be, in words: "1 to 4096", "greedy, topk"; empty: anything of its type.
  std::string range() const;

  std::string name, help;
  Place place;
  std::string flag{};
  bool is_needed = false;
  std::vector<std::function<std::string()>> checks{};  // the first problem counts

 private:
  template <typename T>
  static Place place_of(T& value) {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      return Number<T>{.value = &value};
    } else {
      return &value;
    }
  }
  template <typename E>
  static Word word_of(E& value, const std::vector<std::pair<std::string, E>>& choices) {
    Word word;
    for (const auto& choice : choices) word.names.push_back(choice.first);
    word.get = [&value, choices] {
      size_t index = 0;
      while (index < choices.size() && choices[index].second != value) ++index;
      return index;
    };
    word.set = [&value, choices](size_t index) { value = choices.at(index).second; };
    return word;
  }
};

/// Values that are given replace those in place; the reader collects what is wrong.
void read_settings(ConfigReader& reader, const Settings& settings);
/// Only says what is wrong, after the values were read one by one.
void check_settings(ConfigReader& reader, const Settings& settings);
template <typename Options>
Options read_settings(ConfigReader& reader) {
  Options options;
  read_settings(reader, settings_of(options));
  return options;
}

/// Those of these names, in their order. Every name must be there.
Settings only(const Settings& settings, const std::vector<std::string>& names);
/// Those of all lists.
Settings together(std::vector<Settings> lists);
/// Without what they must() be: check_settings() is for later.
Settings unchecked(Settings settings);
/// Without the bounds of numbers: somebody else says what is too much.
Settings unbounded(Settings settings);
/// Those that have a flag of their own, of sections, too.
Settings flagged(const Settings& settings);

/// A table of Markdown, a row for each setting; those of sections by their full names.
std::string settings_table(const Settings& settings);
/// A YAML file of the values, with what they mean as comments.
std::string settings_yaml(const Settings& settings);

}  // namespace predgen

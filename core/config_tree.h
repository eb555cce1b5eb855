#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/config.h"

namespace YAML {
class Node;
}

namespace predgen {

// ConfigReader's internals: a file as a tree of nodes with their locations.

inline constexpr int kOverrideLine = std::numeric_limits<int>::max();

/// State shared by all readers of one file.
struct ConfigReader::Document {
  struct Problem {
    int line;  // of an override kOverrideLine, which sorts last
    std::string text;
  };
  std::string file;
  std::vector<Problem> problems;

  /// UserError if it is not one YAML mapping.
  std::shared_ptr<Node> parse(const std::string& yaml);
  void apply_override(Node& root, const std::string& text);
  void add(const Node& at, const std::string& message);
  /// Adds a problem for every unread key below `node`.
  void find_unknown_keys(const Node& node);
  /// UserError if at least three keys, and more than a third of all, were not read.
  void refuse_another_kind(Node& root) const;
  /// Throws the problems in line order; of too many, the last ones are only counted.
  [[noreturn]] void fail() const;

 private:
  std::shared_ptr<Node> convert(const YAML::Node& yaml, const std::string& key, int depth);
  std::shared_ptr<Node> parse_override(const Node& place, const std::string& key,
                                       const std::string& value);
};

/// A part of the file, and what the program asked for in it.
struct ConfigReader::Node {
  enum class Kind { kNull, kScalar, kList, kMapping };
  using Child = std::shared_ptr<Node>;
  using Answer = std::variant<std::string, Child>;  // a value as YAML text, or a section

  Kind kind = Kind::kNull;
  std::string key;    // full name: "lora.rank"; empty for the whole file
  std::string where;  // "train.yaml:7" or the override
  int line = 0;
  std::string text;  // of a scalar
  bool quoted = false;
  bool is_unset = false;  // by the override key=null: as if the file did not have it
  std::vector<std::pair<std::string, Child>> entries;  // of a mapping
  std::vector<Child> items;                            // of a list

  bool is_unknown_kind = false;  // so its valid keys are not known

  std::vector<std::pair<std::string, Answer>> answers;  // what was read, in that order
  std::vector<std::string> asked;                       // keys that has() was called with

  Child find(const std::string& name) const {
    for (const auto& [entry, child] : entries) {
      if (entry == name) return child->is_unset ? nullptr : child;
    }
    return nullptr;
  }
  Answer* answer(const std::string& name) {
    for (auto& [entry, value] : answers) {
      if (entry == name) return &value;
    }
    return nullptr;
  }
  void set_answer(const std::string& name, Answer value) {
    if (Answer* known = answer(name)) {
      *known = std::move(value);
    } else {
      answers.emplace_back(name, std::move(value));
    }
  }
  std::string child_key(const std::string& name) const {
    return key.empty() ? name : key + "." + name;
  }
  /// Whether it is what "key=" on the command line gives.
  bool is_empty_override() const {
    return kind == Kind::kScalar && text.empty() && !quoted && line == kOverrideLine;
  }
  /// For messages: "a list", "7".
  std::string described() const;
  void set_place(const Node& place);  // of this node and below
  /// Everything read, as YAML.
  std::string to_yaml(int indent) const;
  /// Adds everything read to `values`, each key prefixed with `prefix`.
  void collect(std::map<std::string, std::string>& values, const std::string& prefix) const;
};

}  // namespace predgen

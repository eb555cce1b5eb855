#include "core/config_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iterator>

#include "core/config.h"
#include "core/edit_distance.h"
#include "core/error.h"

namespace predgen {
namespace {

constexpr int kMaxNodeDepth = 64;  // an anchor may contain its own alias

}  // namespace

std::string ConfigReader::Node::described() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kList:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
    case Kind::kScalar:
      break;
  }
  return quoted ? fmt::format("the text \"{}\"", text) : text;
}

std::string ConfigReader::Node::to_yaml(int indent) const {
  const std::string pad(static_cast<size_t>(indent), ' ');
  std::string result;
  for (const auto& [name, answer] : answers) {
    result += pad + name + ":";
    if (const auto* value = std::get_if<std::string>(&answer)) {
      result += " " + *value + "\n";
    } else {
      const std::string body = std::get<Child>(answer)->to_yaml(indent + 2);
      result += body.empty() ? " {}\n" : "\n" + body;
    }
  }
  return result;
}

void ConfigReader::Node::collect(std::map<std::string, std::string>& values,
                                 const std::string& prefix) const {
  for (const auto& [name, answer] : answers) {
    if (const auto* value = std::get_if<std::string>(&answer)) {
      values[prefix + name] = *value;
    } else {
      std::get<Child>(answer)->collect(values, prefix + name + ".");
    }
  }
}

void ConfigReader::Node::set_place(const Node& place) {
  where = place.where;
  line = place.line;
  for (const auto& [name, child] : entries) child->set_place(place);
  for (const Child& child : items) child->set_place(place);
}

std::shared_ptr<ConfigReader::Node> ConfigReader::Document::convert(const YAML::Node& yaml,
                                                                    const std::string& full_key,
                                                                    int depth) {
  auto node = std::make_shared<Node>();
  node->key = full_key;
  node->line = yaml.Mark().line + 1;
  node->where = fmt::format("{}:{}", file, node->line);
  if (depth > kMaxNodeDepth) throw UserError("{}: nested too deeply", node->where);
  if (yaml.IsScalar()) {
    node->kind = Node::Kind::kScalar;
    node->text = yaml.Scalar();
    node->quoted = yaml.Tag() == "!";
  } else if (yaml.IsSequence()) {
    node->kind = Node::Kind::kList;
    for (const YAML::Node& item : yaml) {
      const std::string name = fmt::format("{}[{}]", full_key, node->items.size());
      node->items.push_back(convert(item, name, depth + 1));
    }
  } else if (yaml.IsMap()) {
    node->kind = Node::Kind::kMapping;
    for (const auto& entry : yaml) {
      if (!entry.first.IsScalar()) {
        add(*node, "a key must be a word");
        continue;
      }
      const std::string& name = entry.first.Scalar();
      auto child = convert(entry.second, node->child_key(name), depth + 1);
      child->line = entry.first.Mark().line + 1;
      child->where = fmt::format("{}:{}", file, child->line);
      if (const auto first = node->find(name)) {
        add(*child, fmt::format("duplicate key \"{}\" (first in line {}); remove one", child->key,
                                first->line));
      } else {
        node->entries.emplace_back(name, std::move(child));
      }
    }
  }
  return node;
}

void ConfigReader::Document::add(const Node& at, const std::string& message) {
  problems.push_back({at.line, fmt::format("{}: {}", at.where, message)});
}

std::shared_ptr<ConfigReader::Node> ConfigReader::Document::parse_override(
    const Node& place, const std::string& key, const std::string& value) {
  auto node = std::make_shared<Node>();
  if (!value.empty() && std::string_view("[{\"'").find(value[0]) != std::string_view::npos) {
    Document inner{place.where, {}};
    try {
      node = inner.convert(YAML::Load(value), key, 0);
    } catch (const YAML::Exception& error) {
      add(place, fmt::format("the value is not valid YAML: {}", error.msg));
      return nullptr;
    }
    for (const Problem& problem : inner.problems) problems.push_back({kOverrideLine, problem.text});
  } else if (value == "null") {
    node->is_unset = true;
    node->key = key;
  } else {  // verbatim, so that "name=a: b # c" needs no quotes
    node->kind = Node::Kind::kScalar;
    node->text = value;
    node->key = key;
  }
  node->set_place(place);
  return node;
}

void ConfigReader::Document::apply_override(Node& root, const std::string& text) {
  Node place;
  place.where = fmt::format("override \"{}\"", text);
  place.line = kOverrideLine;
  const size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == std::string::npos || key.empty() || key.front() == '.' || key.back() == '.' ||
      key.find("..") != std::string::npos) {
    return add(place, "write it as key=value or key.sub=value");
  }
  const auto value = parse_override(place, key, text.substr(equals + 1));
  if (!value) return;

  Node* parent = &root;
  for (size_t start = 0;;) {
    const size_t dot = key.find('.', start);
    const std::string name = key.substr(start, dot - start);
    std::shared_ptr<Node>* slot = nullptr;
    if (parent->kind == Node::Kind::kList) {
      const auto index = parse_value<int64_t>(name, false);
      if (!index || *index < 0 || *index >= std::ssize(parent->items)) {
        return add(place, fmt::format("\"{}\" is a list of {}; use an index from 0", parent->key,
                                      parent->items.size()));
      }
      slot = &parent->items[static_cast<size_t>(*index)];
    } else {
      if (parent->kind == Node::Kind::kNull) parent->kind = Node::Kind::kMapping;
      if (parent->kind != Node::Kind::kMapping) {
        return add(place, fmt::format("\"{}\" is a single value and has no keys", parent->key));
      }
      for (auto& [entry, child] : parent->entries) {
        if (entry == name) slot = &child;
      }
      if (!slot) {
        auto made = std::make_shared<Node>(place);
        made->key = parent->child_key(name);
        slot = &parent->entries.emplace_back(name, std::move(made)).second;
      }
    }
    if (dot == std::string::npos) {
      *slot = value;
      return;
    }
    parent = slot->get();
    start = dot + 1;
  }
}

void ConfigReader::Document::find_unknown_keys(const Node& node) {
  std::vector<std::string> valid = node.asked;
  for (const auto& [name, answer] : node.answers) {
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) valid.push_back(name);
  }
  for (const auto& [name, child] : node.entries) {
    const bool read =
        std::any_of(node.answers.begin(), node.answers.end(),
                    [&, &wanted = name](auto& answer) { return answer.first == wanted; });
    if (!read && !node.is_unknown_kind) {
      add(*child, fmt::format("unknown key \"{}\"; {}", child->key, suggest(name, valid)));
    }
  }
  for (const auto& [name, answer] : node.answers) {
    if (const auto* section = std::get_if<Node::Child>(&answer)) find_unknown_keys(**section);
  }
}

void ConfigReader::Document::refuse_another_kind(Node& root) const {
  std::vector<std::string> unknown;
  for (const auto& [name, child] : root.entries) {
    if (child->line != kOverrideLine && !root.answer(name)) unknown.push_back(name);
  }
  if (unknown.size() < 3 || 3 * unknown.size() <= root.entries.size()) return;
  throw UserError("{}: {} of its {} keys are unknown here ({}, {}, ..): is it for another command?",
                  file, unknown.size(), root.entries.size(), unknown[0], unknown[1]);
}

void ConfigReader::Document::fail() const {
  std::vector<Problem> sorted = problems;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  constexpr size_t kMaxLines = 8;
  std::vector<std::string> lines;
  for (const Problem& problem : sorted) lines.push_back(problem.text);
  if (lines.size() > kMaxLines) {
    const size_t num_left = lines.size() - kMaxLines + 1;
    lines.resize(kMaxLines - 1);
    lines.push_back(fmt::format("{}: and {} more like these", file, num_left));
  }
  throw UserError("{}", fmt::join(lines, "\n"));
}

std::shared_ptr<ConfigReader::Node> ConfigReader::Document::parse(const std::string& yaml) {
  std::shared_ptr<Node> root;
  try {
    const std::vector<YAML::Node> parts = YAML::LoadAll(yaml);
    if (parts.empty() || (parts.size() == 1 && parts[0].IsNull())) {
      throw UserError("{}: is empty; write \"key: value\" lines", file);
    }
    if (parts.size() > 1) {
      throw UserError("{}: holds {} YAML documents, not one", file, parts.size());
    }
    root = convert(parts[0], "", 0);
  } catch (const YAML::Exception& error) {
    throw UserError("{}:{}: not valid YAML: {}", file, error.mark.line + 1, error.msg);
  }
  if (root->kind != Node::Kind::kMapping) {
    throw UserError("{}: must be \"key: value\" lines, not {}", root->where, root->described());
  }
  return root;
}
}  // namespace predgen

#include "core/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "core/config_tree.h"
#include "core/edit_distance.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace predgen {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Decimal, without a leading zero, which other YAML readers take for octal.
bool is_plain_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_digits(text) && (text == "0" || text[0] != '0');
}

/// Digits with a point, an exponent or both; no hexadecimal, no inf, no 010.5.
bool is_plain_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && is_digits(text.substr(1, 1))) return false;
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

template <typename T>
std::optional<T> parse_number(const std::string& text) {
  T value;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

template <typename T>
const char* value_kind() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer such as 10 or 1000";
  if constexpr (std::is_same_v<T, double>) return "a number such as 0.1 or 2e-5";
  if constexpr (std::is_same_v<T, std::string>) return "text";
  return "a path";
}

template <typename T>
std::optional<T> parse_value(const std::string& text, bool quoted) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return std::filesystem::path(expand_variables(text));
  } else if (quoted) {
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return is_plain_integer(text) ? parse_number<T>(text) : std::nullopt;
  } else {
    static_assert(std::is_same_v<T, double>);
    return is_plain_number(text) ? parse_number<T>(text) : std::nullopt;
  }
}

std::string quoted_yaml(const std::string& text) {  // a JSON string is a YAML string
  return to_text(Json(text));
}

#define PREDGEN_VALUE_TYPE(T)                                                \
  template std::optional<T> parse_value<T>(const std::string&, bool quoted); \
  template const char* value_kind<T>()
PREDGEN_VALUE_TYPE(bool);
PREDGEN_VALUE_TYPE(int64_t);
PREDGEN_VALUE_TYPE(double);
PREDGEN_VALUE_TYPE(std::string);
PREDGEN_VALUE_TYPE(std::filesystem::path);
#undef PREDGEN_VALUE_TYPE

ConfigReader::ConfigReader(std::shared_ptr<Document> document, std::shared_ptr<Node> node)
    : document_(std::move(document)), node_(std::move(node)) {}

ConfigReader ConfigReader::load(const std::filesystem::path& file,
                                const std::vector<std::string>& overrides) {
  return parse(read_file(file), file.string(), overrides);
}

ConfigReader ConfigReader::parse(const std::string& yaml, const std::string& name,
                                 const std::vector<std::string>& overrides) {
  auto document = std::make_shared<Document>();
  document->file = name;
  auto root = document->parse(yaml);
  for (const std::string& text : overrides) document->apply_override(*root, text);
  return ConfigReader(std::move(document), std::move(root));
}

template <typename T>
void ConfigReader::optional(const std::string& key, T& value) {
  if (const auto child = node_->find(key)) {
    const auto read = [&]<typename U>(const Node& node, U& result) {
      if (std::is_arithmetic_v<U> && node.is_empty_override()) return true;
      try {
        if (node.kind == Node::Kind::kScalar) {
          if (const auto parsed = parse_value<U>(node.text, node.quoted)) {
            result = *parsed;
            return true;
          }
        }
        document_->add(node, fmt::format("\"{}\" must be {}, not {}", node.key, value_kind<U>(),
                                         node.described()));
      } catch (const UserError& error) {
        document_->add(node, fmt::format("\"{}\": {}", node.key, error.what()));
      }
      return false;
    };
    if constexpr (IsMapping<T>::value) {
      if (child->kind == Node::Kind::kMapping) {
        T values;
        bool good = true;
        for (const auto& [name, item] : child->entries) {
          good = read(*item, values.emplace_back(name, 0).second) && good;
        }
        if (good) value = std::move(values);
      } else {
        document_->add(*child,
                       fmt::format("\"{}\" must be a mapping such as {{a: 1, b: 2}}, not {}",
                                   child->key, child->described()));
      }
    } else if constexpr (IsVector<T>::value) {
      if (child->kind == Node::Kind::kList) {
        T values;
        bool good = true;
        for (const auto& item : child->items) {
          typename T::value_type one{};
          good = read(*item, one) && good;
          values.push_back(std::move(one));
        }
        if (good) value = std::move(values);
      } else {
        document_->add(*child, fmt::format("\"{}\" must be a list such as [a, b], not {}",
                                           child->key, child->described()));
      }
    } else {
      read(*child, value);
    }
  }
  node_->set_answer(key, value_yaml(value));
}

template <typename T>
void ConfigReader::required(const std::string& key, T& value) {
  if (!node_->find(key)) {
    document_->add(*node_, fmt::format("\"{}\" is missing", node_->child_key(key)));
  }
  optional(key, value);
}

template <typename T>
void ConfigReader::optional(const std::string& key, T& value, T lowest, T highest) {
  const T before = value;
  optional(key, value);
  if (node_->find(key) && !(value >= lowest && value <= highest)) {
    problem(key, fmt::format("{}, not {}", bounds_text(lowest, highest), value));
    value = before;
  }
}

#define PREDGEN_CONFIG_TYPE(...)                                                             \
  template void ConfigReader::optional<__VA_ARGS__>(const std::string&, __VA_ARGS__&);       \
  template void ConfigReader::required<__VA_ARGS__>(const std::string&, __VA_ARGS__&);       \
  template void ConfigReader::optional<std::vector<__VA_ARGS__>>(const std::string&,         \
                                                                 std::vector<__VA_ARGS__>&); \
  template void ConfigReader::required<std::vector<__VA_ARGS__>>(const std::string&,         \
                                                                 std::vector<__VA_ARGS__>&)
PREDGEN_CONFIG_TYPE(bool);
PREDGEN_CONFIG_TYPE(int64_t);
PREDGEN_CONFIG_TYPE(double);
PREDGEN_CONFIG_TYPE(std::string);
PREDGEN_CONFIG_TYPE(std::filesystem::path);
#undef PREDGEN_CONFIG_TYPE
template void ConfigReader::optional(const std::string&,
                                     std::vector<std::pair<std::string, int64_t>>&);
template void ConfigReader::optional(const std::string&,
                                     std::vector<std::pair<std::string, double>>&);
template void ConfigReader::required(const std::string&,
                                     std::vector<std::pair<std::string, int64_t>>&);
template void ConfigReader::required(const std::string&,
                                     std::vector<std::pair<std::string, double>>&);
template void ConfigReader::optional<int64_t>(const std::string&, int64_t&, int64_t, int64_t);
template void ConfigReader::optional<double>(const std::string&, double&, double, double);

std::string ConfigReader::choose(const std::string& key, const std::string& current,
                                 const std::vector<std::string>& names) {
  std::string word = current;
  if (const auto child = node_->find(key)) {
    if (child->kind != Node::Kind::kScalar) {
      problem(key,
              fmt::format("must be one of {}, not {}", fmt::join(names, ", "), child->described()));
    } else if (std::find(names.begin(), names.end(), child->text) == names.end()) {
      if (key == "kind") node_->is_unknown_kind = true;
      problem(key, fmt::format("is not one of {}: {} ({})", fmt::join(names, ", "), child->text,
                               suggest(child->text, names)));
    } else {
      word = child->text;
    }
  }
  node_->set_answer(key, value_yaml(word));
  return word;
}

void ConfigReader::accept_old_name(const std::string& old, const std::string& key) {
  auto& entries = node_->entries;
  const auto find = [&](const std::string& name) {
    return std::ranges::find_if(entries, [&](const auto& entry) { return entry.first == name; });
  };
  const auto before = find(old), now = find(key);
  if (before == entries.end()) return;
  if (now == entries.end()) {
    before->first = key;
    return;
  }
  const bool replaces = before->second->line == kOverrideLine;
  if (replaces == (now->second->line == kOverrideLine)) return;
  if (replaces) now->second = before->second;
  entries.erase(before);
}

bool ConfigReader::has(const std::string& key) const {
  node_->asked.push_back(key);
  return node_->find(key) != nullptr;
}

bool ConfigReader::is_single(const std::string& key) const {
  const auto child = node_->find(key);
  return child && child->kind == Node::Kind::kScalar;
}

ConfigReader ConfigReader::section(const std::string& key) {
  if (const Node::Answer* known = node_->answer(key)) {
    if (const auto* section = std::get_if<Node::Child>(known)) {
      return ConfigReader(document_, *section);
    }
  }
  auto child = node_->find(key);
  if (!child || child->kind != Node::Kind::kMapping) {
    if (child && child->kind != Node::Kind::kNull) {
      problem(key, fmt::format("must be a mapping, not {}", child->described()));
    }
    child = std::make_shared<Node>();
    child->kind = Node::Kind::kMapping;
    child->key = node_->child_key(key);
    child->where = node_->where;
    child->line = node_->line;
  }
  node_->set_answer(key, child);
  return ConfigReader(document_, child);
}

void ConfigReader::problem(const std::string& key, const std::string& message) {
  const auto child = node_->find(key);
  document_->add(child ? *child : *node_, fmt::format("\"{}\" {}", node_->child_key(key), message));
}

void ConfigReader::finish() {
  document_->refuse_another_kind(*node_);
  document_->find_unknown_keys(*node_);
  if (!document_->problems.empty()) document_->fail();
}

std::string ConfigReader::resolved() const { return node_->to_yaml(0); }

std::map<std::string, std::string> ConfigReader::values() const {
  std::map<std::string, std::string> values;
  node_->collect(values, "");
  return values;
}

}  // namespace predgen

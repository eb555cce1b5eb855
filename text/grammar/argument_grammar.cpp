#include "text/grammar/argument_grammar.h"

#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"

// Of XGrammar's cpp/json_schema_converter.h; its public headers have these spellings only where
// blanks may be anywhere, which leaves nothing that must come.
namespace xgrammar {

enum class JSONFormat : int;
std::optional<JSONFormat> JSONFormatFromString(const std::string& format);
Grammar JSONSchemaToGrammar(const std::string& schema, bool any_whitespace,
                            std::optional<int> indent,
                            std::optional<std::pair<std::string, std::string>> separators,
                            bool strict_mode, std::optional<int> max_whitespace_cnt, bool any_order,
                            JSONFormat json_format, std::vector<std::string> excludes);

}  // namespace xgrammar

namespace predgen {
namespace {

constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
constexpr const char* kAnyKey = "[a-zA-Z_] [a-zA-Z_0-9]* \"=\"";
constexpr int kMostSteps = 16;  // of references and alternatives around a schema

std::string quoted(const std::string& text) { return to_text(Json(text)); }

/// The names of the rules of a grammar, each of which begins a line.
std::set<std::string_view> rule_names(std::string_view grammar) {
  std::set<std::string_view> names;
  for (size_t at = 0; at < grammar.size();) {
    const size_t end = std::min(grammar.find('\n', at), grammar.size());
    const std::string_view line = grammar.substr(at, end - at);
    if (const size_t is = line.find(" ::= "); is != std::string_view::npos) {
      names.insert(line.substr(0, is));
    }
    at = end + 1;
  }
  return names;
}

/// `grammar` with `prefix` in front of the names of its rules.
std::string renamed(std::string_view grammar, const std::string& prefix) {
  const std::set<std::string_view> names = rule_names(grammar);
  std::string result;
  for (size_t at = 0, end = 0; at < grammar.size(); at = end) {
    const char c = grammar[at];
    if (c == '"' || c == '[') {  // a text, or a class of characters
      end = at + 1;
      while (end < grammar.size() && grammar[end] != (c == '"' ? '"' : ']')) {
        end += grammar[end] == '\\' ? 2 : 1;
      }
      end = std::min(end + 1, grammar.size());
    } else {
      end = std::min(grammar.find_first_not_of(kNameLetters, at), grammar.size());
      if (names.contains(grammar.substr(at, end - at))) result += prefix;
      end = std::max(end, at + 1);
    }
    result += grammar.substr(at, end - at);
  }
  return result;
}

class ArgumentRules {
 public:
  ArgumentRules(const Json& schema, bool is_strict, const ValueGrammar& value)
      : schema_(schema), is_strict_(is_strict), value_(value) {}

  std::string text() {
    const std::string all = arguments(schema_);
    return fmt::format("root ::= {}\n{}", all, rules_);
  }

 private:
  std::string rule(const std::string& body) {
    std::string name = fmt::format("r{}", num_rules_++);
    rules_ += fmt::format("{} ::= {}\n", name, body);
    return name;
  }

  /// What a schema refers to, which is of the same document.
  const Json& resolved(const Json& schema) const {
    const Json* at = &schema;
    for (int step = 0; at->is_object() && at->contains("$ref"); ++step) {
      if (step == kMostSteps) throw UserError("'$ref' leads around in a circle");
      const std::string where = (*at)["$ref"].get<std::string>().substr(1);
      checked_json("'$ref'", [&] { at = &schema_.at(Json::json_pointer(where)); });
    }
    return *at;
  }

  std::string any_of(const Json& schemas, const auto& each) {
    std::string all;
    for (const Json& one : schemas) all = joined(all, " | ", each(one));
    return rule(all);
  }

  std::string constant(const Json& value) const {
    if (value.is_boolean()) return value.get<bool>() ? "\"True\"" : "\"False\"";
    return quoted(value.is_null() ? "None" : to_text(value));
  }

  /// The rule of a value.
  std::string value(const Json& given, int depth = 0) {
    const Json& schema = resolved(given);
    const auto each = [&](const Json& one) { return value(one, depth + 1); };
    if (depth > kMostSteps) return json_value(schema);
    if (schema.is_object()) {
      for (const char* key : {"anyOf", "oneOf", "allOf"}) {
        if (schema.contains(key)) return any_of(schema[key], each);
      }
      const auto same = [&](const Json& one) { return constant(one); };
      if (schema.contains("enum")) return any_of(schema["enum"], same);
      if (schema.contains("const")) return rule(constant(schema["const"]));
      const Json type = schema.value("type", Json());
      if (type == "boolean") return rule(R"("True" | "False")");
      if (type == "null") return rule(R"("None")");
      if (type.is_array()) {
        return any_of(type, [&](const Json& one) {
          Json of_type = schema;
          of_type["type"] = one;
          return value(of_type, depth + 1);
        });
      }
      if (!schema.empty()) return json_value(schema);
    }
    return rule(json_value(true) + R"( | "True" | "False" | "None")");
  }

  /// The rule of a value in JSON.
  std::string json_value(Json schema) {
    for (const char* key : {"$defs", "definitions"}) {
      if (schema.is_object() && schema_.contains(key)) schema[key] = schema_[key];
    }
    const std::string prefix = fmt::format("v{}_", num_rules_++);
    std::string rules = renamed(value_(schema), prefix) + "\n";
    // XGrammar looks ahead to what follows a text, which in JSON is no parenthesis.
    constexpr std::string_view kBehind = "[,}\\]:]";
    if (const size_t at = rules.find(kBehind); at != std::string::npos) rules.insert(at + 1, ")");
    rules_ += rules;
    return prefix + "root";
  }

  /// The rule of all arguments.
  std::string arguments(const Json& given, int depth = 0) {
    Json schema = resolved(given);
    if (depth > kMostSteps) throw UserError("the alternatives of parameters lead around");
    if (!schema.is_object()) schema = Json::object();
    if (schema.contains("anyOf")) {
      return any_of(schema["anyOf"], [&](const Json& one) { return arguments(one, depth + 1); });
    }
    check_other_properties(schema);
    const Json properties = schema.value("properties", Json::object());
    if (!properties.empty()) return in_order(properties, schema.value("required", Json::array()));
    const Json others = schema.value("additionalProperties", Json(!is_strict_));
    if (others == false) return rule("\"\"");
    const std::string one = fmt::format("{} {}", kAnyKey, value(others));
    return rule(fmt::format("\"\" | {} (\", \" {})*", one, one));
  }

  /// UserError for what is promised of properties that a schema does not name.
  void check_other_properties(const Json& schema) const {
    if (!is_strict_) return;
    const bool has_some = schema.contains("properties") && !schema["properties"].empty();
    for (const auto& [keyword, value] : schema.items()) {
      const bool is_harmless = keyword == "type" || keyword == "properties" ||
                               keyword == "required" || keyword == "$defs" ||
                               keyword == "definitions" ||
                               (keyword == "additionalProperties" && (value == false || !has_some));
      if (is_harmless) continue;
      throw UserError(
          "'{}' of parameters: no grammar of this server can hold a call in Python to it; leave it "
          "out",
          keyword);
    }
  }

  std::string in_order(const Json& properties, const Json& required) {
    // From the last on: what may follow if no argument came before, or one did.
    std::string first = "\"\"", next = "\"\"";
    std::vector<std::string> names;
    for (const auto& [name, schema] : properties.items()) names.push_back(name);
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      const std::string item =
          fmt::format("{} {} {}", quoted(*name + "="), value(properties[*name]), next);
      const bool is_needed = std::ranges::count(required, Json(*name)) > 0;
      first = rule(is_needed ? item : fmt::format("{} | {}", item, first));
      const std::string none = is_needed ? "" : fmt::format(" | {}", next);
      next = rule(fmt::format("\", \" {}{}", item, none));
    }
    return first;
  }

  const Json& schema_;
  const bool is_strict_;
  const ValueGrammar& value_;
  std::string rules_;
  int num_rules_ = 0;
};

}  // namespace

std::string python_arguments(const Json& schema, bool is_strict, const ValueGrammar& value) {
  return ArgumentRules(schema, is_strict, value).text();
}

namespace {

struct Spelling {
  const char* name = "json";  // XGrammar's
  std::optional<std::pair<std::string, std::string>> separators{};
  std::optional<int> most_blanks{};  // between tags
  std::vector<std::string> marks{};
};

Spelling spelling_of(ToolFormat format) {
  if (format == ToolFormat::kXml) {
    return {.name = "qwen_xml", .most_blanks = 1, .marks = {"</parameter>"}};
  }
  if (format == ToolFormat::kGemma) {
    return {.name = "gemma",
            .separators = {{",", ":"}},
            .marks = {"<|tool_call>", "<tool_call|>", "<|channel>", "<channel|>"}};
  }
  if (format == ToolFormat::kPython) return {.marks = {"<|tool_call_start|>", "<|tool_call_end|>"}};
  return {.marks = {"<|start|>", "<|end|>", "<|call|>", "<|return|>"}};
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return text;
}

/// With all keys as Jinja's dictsort has them.
Json sorted(const Json& value) {
  Json result = value;
  if (value.is_array()) std::ranges::transform(value, result.begin(), sorted);
  if (!value.is_object()) return result;
  std::vector<std::string> keys;
  for (const auto& [key, one] : value.items()) keys.push_back(key);
  std::ranges::stable_sort(keys, {}, in_lower_case);
  result = Json::object();
  for (const std::string& key : keys) result[key] = sorted(value[key]);
  return result;
}

}  // namespace

std::string argument_grammar(const Json& schema, bool is_strict, ToolFormat format) {
  const Spelling spelling = spelling_of(format);
  const auto written = [&](const Json& one) {
    return xgrammar::JSONSchemaToGrammar(to_text(one), /*any_whitespace=*/false, std::nullopt,
                                         spelling.separators, is_strict, spelling.most_blanks,
                                         /*any_order=*/false,
                                         xgrammar::JSONFormatFromString(spelling.name).value(),
                                         spelling.marks)
        .ToString();
  };
  if (format == ToolFormat::kPython) return python_arguments(schema, is_strict, written);
  return written(format == ToolFormat::kGemma ? sorted(schema) : schema);
}

}  // namespace predgen

#include "text/grammar/argument_grammar.h"

#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "text/grammar/python_arguments.h"

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

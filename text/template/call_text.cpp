#include "text/template/call_text.h"

#include "core/error.h"
#include "core/text.h"
#include "text/jinja/operations.h"

namespace predgen {
namespace {

constexpr const char* kOfArguments = "the arguments of a call";

/// As Python writes a value; dictionaries as JSON, as LFM2.5's template has them.
std::string python_text(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (!value.is_array()) return python_json(value, kOfArguments);
  std::string items;
  for (const Json& item : value) items = joined(items, ", ", python_text(item));
  return fmt::format("[{}]", items);
}

std::string one_call(ToolFormat format, const Json& function) {
  if (format == ToolFormat::kHermes) {
    return fmt::format("<tool_call>\n{}\n</tool_call>", python_json(function, kOfArguments));
  }
  if (format != ToolFormat::kPython) return python_json(function, kOfArguments);
  std::string arguments;
  for (const auto& [name, value] : function["arguments"].items()) {
    arguments = joined(arguments, ", ", fmt::format("{}={}", name, python_text(value)));
  }
  return fmt::format("{}({})", function["name"].get<std::string>(), arguments);
}

}  // namespace

std::string python_json(const Json& value, const char* what) {
  try {
    jinja::Budget budget;
    jinja::Runtime runtime(budget);
    return jinja::json_text(runtime, runtime.from_json(value), {});
  } catch (const jinja::Failure& failure) {
    throw UserError("{}: {}", what, failure.what());
  }
}

std::string call_text(ToolFormat format, const Json& calls) {
  std::string text;
  for (const Json& call : calls) {
    text = joined(text, format == ToolFormat::kHermes ? "\n" : ", ",
                  one_call(format, call["function"]));
  }
  if (format == ToolFormat::kHermes) return text;
  if (format != ToolFormat::kPython) return fmt::format("[TOOL_CALLS][{}]", text);
  return fmt::format("<|tool_call_start|>[{}]<|tool_call_end|>", text);
}

}  // namespace predgen

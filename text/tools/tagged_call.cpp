#include "text/tools/tagged_call.h"

#include <algorithm>

#include "core/text.h"
#include "text/begun.h"
#include "text/tools/gemma_call.h"
#include "text/tools/python_call.h"
#include "text/tools/xml_call.h"

namespace predgen {
namespace {

constexpr std::string_view kFunctionEnd = "</function>", kCallEnd = "</tool_call>",
                           kGemmaEnd = "<tool_call|>", kPythonEnd = "<|tool_call_end|>";

/// Whether the text ends in the value of a parameter.
bool ends_in_value(std::string_view text) {
  const size_t open = text.rfind("<parameter=");
  return open != std::string_view::npos &&
         text.find("</parameter>", open) == std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> TaggedCall::find_body(std::string_view text, std::string_view mark,
                                                      bool is_over) {
  const size_t end = text.find(mark, searched_);
  if (end != std::string_view::npos || is_over) return text.substr(0, end);
  searched_ = text.size() - std::min(text.size(), mark.size());
  return std::nullopt;
}

std::optional<TaggedCall::Found> TaggedCall::find_gemma(std::string_view text, bool is_over) {
  const auto body = find_body(text, kGemmaEnd, is_over);
  if (!body) return std::nullopt;
  return Found{.end = std::min(body->size() + kGemmaEnd.size(), text.size()),
               .call = parse_gemma_call(*body)};
}

std::optional<TaggedCall::Found> TaggedCall::find_python(std::string_view text, const Json& tools,
                                                         bool is_over) {
  const auto body = find_body(text, kPythonEnd, is_over);
  if (!body) return std::nullopt;
  return Found{.end = std::min(body->size() + kPythonEnd.size(), text.size()),
               .call = parse_python_calls(*body, tools)};
}

std::optional<TaggedCall::Found> TaggedCall::find_xml(std::string_view text, const Json& tools,
                                                      bool is_over) {
  const std::string_view begin = trimmed(text);
  if (!may_begin(begin, kXmlFunction)) {
    const size_t end = text.find(kCallEnd);
    if (!is_over && end == std::string_view::npos) return std::nullopt;
    return Found{.end = std::min(end, text.size())};
  }
  while (true) {
    const size_t end = std::min(text.find(kFunctionEnd, searched_), text.find(kCallEnd, searched_));
    if (end == std::string_view::npos) break;
    if (ends_in_value(text.substr(0, end))) {
      searched_ = end + 1;
      continue;
    }
    const bool is_of_function = text.substr(end).starts_with(kFunctionEnd);
    return Found{.end = end + (is_of_function ? kFunctionEnd.size() : 0),
                 .call = parse_xml_call(text.substr(0, end), tools)};
  }
  searched_ = std::max(searched_, text.size() - std::min(text.size(), kCallEnd.size()));
  return is_over ? std::optional(Found{.end = text.size()}) : std::nullopt;
}

}  // namespace predgen

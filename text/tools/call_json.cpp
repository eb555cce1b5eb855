#include "text/tools/call_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"

namespace predgen {
namespace {

/// `text` without the two mistakes of models that have one meaning only: control characters in
/// strings, such as line breaks, and commas behind the last item.
std::string mended(std::string_view text) {
  std::string result;
  bool in_string = false, is_escaped = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    const size_t next = std::min(text.find_first_not_of(" \t\r\n", at + 1), text.size());
    const bool is_last_comma =
        !in_string && c == ',' && next < text.size() && (text[next] == '}' || text[next] == ']');
    if (in_string && is_control) {
      if (is_escaped) result.pop_back();
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (!is_last_comma) {
      result += c;
    }
    if (c == '"' && !is_escaped) in_string = !in_string;
    is_escaped = in_string && c == '\\' && !is_escaped;
  }
  return result;
}

}  // namespace

std::optional<Json> parse_call_json(std::string_view text) {
  for (const std::string& json : {std::string(text), mended(text)}) {
    try {
      return parse_json(json, "a call");
    } catch (const UserError&) {
    }
  }
  return std::nullopt;
}

}  // namespace predgen

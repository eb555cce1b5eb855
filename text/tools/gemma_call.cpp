#include "text/tools/gemma_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/text.h"
#include "text/tools/call_json.h"

namespace predgen {
namespace {

constexpr std::string_view kQuote = "<|\"|>", kBrackets = "{}[],:";

/// The length of a text in JSON's quotes at the beginning of `text`.
size_t quoted_length(std::string_view text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// A word without quotes: a key, or a value that is no text.
std::string word_as_json(std::string_view word, bool is_key) {
  if (word == "None") return "null";
  return !is_key && Json::accept(word) ? std::string(word) : to_text(Json(word));
}

/// Arguments as JSON; what is malformed makes no JSON.
std::string as_json(std::string_view text) {
  std::string json;
  while (!text.empty()) {
    size_t length = 1;
    if (text.starts_with(kQuote)) {
      const size_t end = text.find(kQuote, kQuote.size());
      if (end == std::string_view::npos) return "";
      json += to_text(Json(text.substr(kQuote.size(), end - kQuote.size())));
      length = end + kQuote.size();
    } else if (text.front() == '"') {
      length = quoted_length(text);
      json += text.substr(0, length);
    } else if (kBrackets.find(text.front()) != std::string_view::npos) {
      json += text.front();
    } else if (!is_blank(text.substr(0, 1))) {
      length = std::min({text.size(), text.find_first_of(kBrackets), text.find(kQuote)});
      const bool is_key = length < text.size() && text[length] == ':';
      json += word_as_json(trimmed(text.substr(0, length)), is_key);
    }
    text.remove_prefix(length);
  }
  return json;
}

}  // namespace

std::optional<Json> parse_gemma_call(std::string_view text) {
  constexpr std::string_view kCall = "call:";
  text = trimmed(text);
  const size_t brace = text.find('{');
  if (!text.starts_with(kCall) || brace == std::string_view::npos) return std::nullopt;
  std::optional<Json> arguments = parse_call_json(as_json(text.substr(brace)));
  if (!arguments) return std::nullopt;
  const std::string_view name = trimmed(text.substr(kCall.size(), brace - kCall.size()));
  return Json{{"name", name}, {"arguments", *std::move(arguments)}};
}

}  // namespace predgen

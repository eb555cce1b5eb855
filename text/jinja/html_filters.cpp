// Filters that make HTML and addresses.
#include <fmt/format.h>

#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

using A = const Arguments&;
using V = const Value&;

Value escaped(Runtime& runtime, V value, A arguments, bool is_forced) {
  bound("escape", arguments, {});
  if (!is_forced && value.is_text() && value.text_object().is_safe) return value;
  const std::string text = printed(runtime, value);
  runtime.budget.write(5 * text.size());
  return runtime.text(html_escaped(text), /*is_safe=*/true);
}

Value marked_safe(Runtime& runtime, V value, A arguments) {
  bound("safe", arguments, {});
  return runtime.text(printed(runtime, value), /*is_safe=*/true);
}

std::string quoted_in_address(std::string_view text, bool is_query) {
  std::string result;
  for (const char c : text) {
    const bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_letter || std::string_view("_.-~").find(c) != std::string_view::npos ||
        (c == '/' && !is_query)) {
      result += c;
    } else if (c == ' ' && is_query) {
      result += '+';
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

Value url_encoded(Runtime& runtime, V value, A arguments) {
  bound("urlencode", arguments, {});
  const auto part = [&](V one, bool is_query) {
    const std::string text = printed(runtime, one);
    runtime.budget.write(3 * text.size());
    return quoted_in_address(text, is_query);
  };
  if (value.is_text() || !is_iterable(value)) return runtime.text(part(value, false));
  const Value pairs = value.is(Kind::kDict)
                          ? Value(Kind::kView, std::make_shared<View>(value, View::Of::kItems))
                          : value;
  std::string result;
  for (const Value& pair : all_items(runtime, pairs)) {
    const std::vector<Value> both = all_items(runtime, pair);
    if (both.size() != 2) throw Failure("urlencode: expected pairs");
    if (!result.empty()) result += '&';
    runtime.budget.append(result, part(both[0], true) + "=" + part(both[1], true));
  }
  return runtime.text(std::move(result));
}

Value xml_attributes(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("xmlattr", arguments, {"autospace"});
  if (!value.is(Kind::kDict)) fail_type("xmlattr", value);
  std::string result;
  for (const auto& [key, item] : value.dict().items) {
    if (item.is_none() || item.is_undefined()) continue;
    const std::string name = printed(runtime, key);
    if (name.find_first_of(" \t\n\r\f\v/>=") != std::string::npos) {
      throw Failure("xmlattr: a name has a character that ends it");
    }
    if (!result.empty()) result += ' ';
    const std::string text = printed(runtime, item);
    const bool is_safe = item.is_text() && item.text_object().is_safe;
    runtime.budget.append(
        result, fmt::format("{}=\"{}\"", html_escaped(name), is_safe ? text : html_escaped(text)));
  }
  const bool has_space = !is_given(given[0]) || is_true(runtime, given[0]);
  return runtime.text(has_space && !result.empty() ? " " + result : result);
}

/// Without comments and tags, with single blanks.
Value without_tags(Runtime& runtime, V value, A arguments) {
  bound("striptags", arguments, {});
  std::string text = printed(runtime, value);
  const auto remove = [&](std::string_view open, std::string_view close) {
    std::string rest;
    size_t at = 0;
    while (true) {
      const size_t begin = find_text(text, open, at);
      const size_t end =
          begin == std::string::npos ? begin : find_text(text, close, begin + open.size());
      if (end == std::string::npos) break;
      rest += text.substr(at, begin - at);
      at = end + close.size();
    }
    text = rest + text.substr(std::min(at, text.size()));
  };
  remove("<!--", "-->");
  remove("<", ">");
  std::string words;
  for (const std::string_view word : split(runtime.budget, text, std::nullopt, -1, false)) {
    if (!words.empty()) words += ' ';
    words += word;
  }
  if (words.find('&') != std::string::npos) {
    throw Failure("striptags of text with & is not supported");
  }
  return runtime.text(std::move(words));
}

}  // namespace

const Methods& html_filters() {
  static const Methods filters = {
      {"e", [](Runtime& r, V v, A a) { return escaped(r, v, a, false); }},
      {"escape", [](Runtime& r, V v, A a) { return escaped(r, v, a, false); }},
      {"forceescape", [](Runtime& r, V v, A a) { return escaped(r, v, a, true); }},
      {"safe", marked_safe},
      {"urlencode", url_encoded},
      {"xmlattr", xml_attributes},
      {"striptags", without_tags}};
  return filters;
}

}  // namespace predgen::jinja

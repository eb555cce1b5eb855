// "{}".format(value).
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/formatting.h"
#include "text/jinja/functions.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

FormatSpec parsed_spec(std::string_view text) {
  FormatSpec spec;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  size_t first = 0;
  if (!text.empty()) next_code(text, first);
  if (first > 0 && first < text.size() && is_align(text[first])) {
    spec.fill = text.substr(0, first);
    spec.align = text[first];
    text.remove_prefix(first + 1);
  } else if (!text.empty() && is_align(text[0])) {
    spec.align = text[0];
    text.remove_prefix(1);
  }
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == std::string_view::npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  const auto number = [&] {
    int64_t value = 0;
    for (char c = take("0123456789"); c != '\0'; c = take("0123456789")) {
      value = std::min<int64_t>(value * 10 + (c - '0'), int64_t{1} << 40);
    }
    return value;
  };
  if (const char sign = take("+- ")) spec.sign = sign;
  spec.is_alternate = take("#") != '\0';
  if (take("0") != '\0' && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = number();
  spec.group = take(",_");
  if (take(".") != '\0') {
    if (text.empty() || text[0] < '0' || text[0] > '9') throw Failure("format: no precision");
    spec.precision = number();
  }
  spec.type = take("bcdeEfFgGnosxX%");
  if (!text.empty()) throw Failure(fmt::format("format: \"{}\" is not understood", text));
  return spec;
}

class BraceFormat {
 public:
  BraceFormat(Runtime& runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 2) throw Failure("format: braces are nested too deep");
    std::string result;
    for (size_t at = 0; at < format.size();) {
      const size_t brace = std::min(format.find_first_of("{}", at), format.size());
      runtime_.budget.append(result, format.substr(at, brace - at));
      if (brace == format.size()) break;
      const bool is_double = brace + 1 < format.size() && format[brace + 1] == format[brace];
      if (is_double) {
        runtime_.budget.append(result, format.substr(brace, 1));
        at = brace + 2;
        continue;
      }
      if (format[brace] == '}') throw Failure("format: a single }");
      const size_t end = end_of_field(format, brace + 1);
      runtime_.budget.append(result, field(format.substr(brace + 1, end - brace - 1), depth));
      at = end + 1;
    }
    return result;
  }

 private:
  static size_t end_of_field(std::string_view format, size_t at) {
    int depth = 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '{') ++depth;
      if (format[at] == '}' && --depth == 0) return at;
    }
    throw Failure("format: a { has no }");
  }

  std::string field(std::string_view text, int depth) {
    const size_t end = std::min(text.find_first_of("!:"), text.size());
    Value value = named(text.substr(0, end));
    text.remove_prefix(end);
    if (text.starts_with('!')) {
      const char conversion = text.size() > 1 ? text[1] : '\0';
      if (conversion == 'r' || conversion == 'a') {
        value = runtime_.text(represented(runtime_, value));
      } else if (conversion == 's') {
        value = runtime_.text(printed(runtime_, value));
      } else {
        throw Failure("format: the conversion is not known");
      }
      text.remove_prefix(2);
    }
    if (text.empty()) return formatted(runtime_, value, "");
    if (text[0] != ':') throw Failure("format: expected : behind a conversion");
    return formatted(runtime_, value, run(text.substr(1), depth + 1));
  }

  Value named(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = first(path.substr(0, end));
    path.remove_prefix(end);
    while (!path.empty()) {
      if (path[0] == '.') {
        const size_t stop = std::min(path.find_first_of(".[", 1), path.size());
        value = attribute_of(runtime_, value, std::string(path.substr(1, stop - 1)));
        path.remove_prefix(stop);
      } else {
        const size_t stop = path.find(']');
        if (stop == std::string_view::npos) throw Failure("format: a [ has no ]");
        value = item_of(runtime_, value, key(path.substr(1, stop - 1)));
        path.remove_prefix(stop + 1);
      }
    }
    return value;
  }

  Value key(std::string_view text) {
    constexpr size_t kMostDigits = 18;
    const bool is_number = !text.empty() && text.size() <= kMostDigits &&
                           text.find_first_not_of("0123456789") == std::string_view::npos;
    return is_number ? Value::integer(std::stoll(std::string(text)))
                     : runtime_.text(std::string(text));
  }

  Value first(std::string_view name) {
    Value which = name.empty() ? Value::integer(static_cast<Int>(next_++)) : key(name);
    if (which.is_whole()) {
      if (which.whole() >= static_cast<Int>(arguments_.positional.size())) {
        throw Failure("format: not enough values");
      }
      return arguments_.positional[static_cast<size_t>(which.whole())];
    }
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) return value;
    }
    throw Failure(fmt::format("format: no value \"{}\"", name));
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  size_t next_ = 0;
};

}  // namespace

std::string formatted(Runtime& runtime, const Value& value, std::string_view specification) {
  if (specification.empty()) return printed(runtime, value);
  const FormatSpec spec = parsed_spec(specification);
  const bool is_real_type = std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  if (value.is(Kind::kFloat) || (value.is_whole() && is_real_type && spec.type != '\0')) {
    if (spec.type != '\0' && !is_real_type && spec.type != 'n') fail_type("format", value);
    return formatted_real(runtime, value.number(), spec);
  }
  if (value.is_whole()) {
    if (spec.precision >= 0) throw Failure("format: a whole number has no precision");
    if (spec.type == 's') fail_type("format", value);
    if (spec.type != 'c') return formatted_whole(runtime, value.whole(), spec);
    std::string text;
    append_code(text, static_cast<char32_t>(whole_number(value, "format")));
    return formatted_text(runtime, text, spec);
  }
  if (!value.is_text() || (spec.type != '\0' && spec.type != 's')) fail_type("format", value);
  return formatted_text(runtime, value.text(), spec);
}

std::string brace_format(Runtime& runtime, std::string_view format, const Arguments& arguments) {
  return BraceFormat(runtime, arguments).run(format, 1);
}

}  // namespace predgen::jinja

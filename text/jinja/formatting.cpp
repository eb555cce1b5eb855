#include "text/jinja/formatting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/functions.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

/// `body` in the width that `spec` wants; `sign` stays in front of what "=" fills in.
std::string padded(Runtime& runtime, const std::string& sign, const std::string& body,
                   const FormatSpec& spec, char usual_align) {
  const auto size = static_cast<int64_t>(count_characters(sign) + count_characters(body));
  const auto missing = static_cast<size_t>(std::max<int64_t>(spec.width - size, 0));
  runtime.budget.write_times(missing, spec.fill.size());
  const char align = spec.align == '\0' ? usual_align : spec.align;
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string result = align == '=' ? sign : "";
  for (size_t i = 0; i < left; ++i) result += spec.fill;
  if (align != '=') result += sign;
  result += body;
  for (size_t i = left; i < missing; ++i) result += spec.fill;
  return result;
}

std::string sign_of(bool is_negative, const FormatSpec& spec) {
  if (is_negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string grouped(const std::string& digits, char mark, size_t size) {
  std::string result;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) result += mark;
    result += digits[i];
  }
  return result;
}

std::string digits_of(Int value, int base, bool is_upper) {
  std::string digits;
  do {
    const int digit = std::abs(static_cast<int>(value % base));
    digits += (is_upper ? "0123456789ABCDEF" : "0123456789abcdef")[digit];
    value /= base;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

std::string formatted_whole(Runtime& runtime, Int value, const FormatSpec& spec) {
  const bool is_upper = spec.type == 'X';
  const int base = spec.type == 'x' || is_upper ? 16
                   : spec.type == 'o'           ? 8
                   : spec.type == 'b'           ? 2
                                                : 10;
  std::string digits = digits_of(value, base, is_upper);
  if (spec.precision > static_cast<int64_t>(digits.size())) {
    runtime.budget.write(static_cast<size_t>(spec.precision));
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  }
  if (spec.group != '\0') digits = grouped(digits, spec.group, base == 10 ? 3 : 4);
  std::string sign = sign_of(value < 0, spec);
  if (spec.is_alternate && base != 10) sign += std::string("0") + spec.type;
  return padded(runtime, sign, digits, spec, '>');
}

std::string formatted_real(Runtime& runtime, double value, const FormatSpec& spec) {
  constexpr int64_t kMostDigits = 1000;
  if (spec.precision > kMostDigits) throw Failure("a format has a precision of more than 1,000");
  const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
  const double size = std::abs(value) * (spec.type == '%' ? 100 : 1);
  const char type = static_cast<char>(spec.type | 0x20);
  const bool is_plain = spec.type == '\0' || spec.type == 'n';
  std::string body;
  if (!std::isfinite(value)) {
    body = std::isnan(value) ? "nan" : "inf";
  } else if (is_plain && spec.precision < 0) {
    body = printed_float(size);
  } else if (is_plain) {
    body = fmt::format("{:.{}g}", size, std::max(precision, 1));
    if (body.find_first_of(".e") == std::string::npos) body += ".0";
  } else if (type == 'e') {
    body = fmt::format("{:.{}e}", size, precision);
  } else if (type == 'g') {
    body = spec.is_alternate ? fmt::format("{:#.{}g}", size, std::max(precision, 1))
                             : fmt::format("{:.{}g}", size, std::max(precision, 1));
  } else {
    body = fmt::format("{:.{}f}", size, precision);
  }
  if (spec.type == 'E' || spec.type == 'G' || spec.type == 'F') body = upper(body);
  if (spec.group != '\0' && std::isfinite(value)) {
    const size_t end = std::min(body.find_first_of(".eE"), body.size());
    body = grouped(body.substr(0, end), spec.group, 3) + body.substr(end);
  }
  if (spec.type == '%') body += '%';
  return padded(runtime, sign_of(std::signbit(value), spec), body, spec, '>');
}

std::string formatted_text(Runtime& runtime, std::string_view text, const FormatSpec& spec) {
  std::string body(text);
  if (spec.precision >= 0) {
    const Text whole(body, false);
    body.resize(byte_of(whole, static_cast<size_t>(spec.precision)));
  }
  return padded(runtime, "", body, spec, '<');
}

// "{}".format(value).
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

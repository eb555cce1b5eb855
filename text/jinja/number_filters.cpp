// Filters that make numbers.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja/functions.h"
#include "text/jinja/literals.h"
#include "text/jinja/python_text.h"

namespace predgen::jinja {
namespace {

using A = const Arguments&;
using V = const Value&;

/// float(text), or nothing.
std::optional<double> parsed_float(std::string_view text) {
  text = stripped(text, std::nullopt, true, true);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_between = text[i] == '_' && i > 0 && i + 1 < text.size() &&
                            std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0 &&
                            std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!is_between) plain += text[i];
  }
  const std::string name = lower(plain);
  const std::string_view unsigned_name =
      std::string_view(name).substr(name.starts_with('-') || name.starts_with('+') ? 1 : 0);
  const bool is_named =
      unsigned_name == "inf" || unsigned_name == "infinity" || unsigned_name == "nan";
  const bool is_decimal = plain.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (plain.empty() || (!is_named && !is_decimal)) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(plain.c_str(), &end);
  return *end == '\0' ? std::optional<double>(number) : std::nullopt;
}

/// int(text, base), or nothing.
std::optional<Int> parsed_int(std::string_view text, int64_t base) {
  text = stripped(text, std::nullopt, true, true);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  const auto digit = [](char c) {
    const char small = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') return c - '0';
    return small >= 'a' && small <= 'z' ? small - 'a' + 10 : 99;
  };
  if (text.size() > 1 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int64_t named = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : -1;
    if (named > 0 && (base == 0 || base == named)) {
      base = named;
      text.remove_prefix(2);
      if (text.starts_with('_')) text.remove_prefix(1);
    } else if (base == 0 && text.find_first_not_of("0_") != std::string_view::npos) {
      return std::nullopt;
    }
  }
  if (base == 0) base = 10;
  Int result = 0;
  bool may_separate = false;
  for (const char c : text) {
    if (c == '_' && may_separate) {
      may_separate = false;
      continue;
    }
    if (digit(c) >= base) return std::nullopt;
    may_separate = true;
    if (__builtin_mul_overflow(result, Int{base}, &result) ||
        __builtin_add_overflow(result, Int{digit(c)}, &result)) {
      throw Failure("a whole number has more than 128 bits");
    }
  }
  if (!may_separate) return std::nullopt;
  return is_negative ? -result : result;
}

std::optional<Value> truncated_float(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  if (std::abs(number) > 1e38) throw Failure("a whole number has more than 128 bits");
  return Value::integer(static_cast<Int>(number));
}

Value to_int(Runtime&, V value, A arguments) {
  const std::vector<Value> given = bound("int", arguments, {"default", "base"});
  const int64_t base = is_given(given[1]) ? whole_number(given[1], "int") : 10;
  Value otherwise = is_given(given[0]) ? given[0] : Value::integer(0);
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_whole()) return Value::integer(value.whole());
  if (value.is(Kind::kFloat)) return truncated_float(value.number()).value_or(otherwise);
  if (!value.is_text()) return otherwise;
  const bool has_base = base == 0 || (base >= 2 && base <= 36);
  if (const auto whole = has_base ? parsed_int(value.text(), base) : std::nullopt) {
    return Value::integer(*whole);
  }
  const std::optional<double> number = parsed_float(value.text());
  return number ? truncated_float(*number).value_or(otherwise) : otherwise;
}

Value to_float(Runtime&, V value, A arguments) {
  const std::vector<Value> given = bound("float", arguments, {"default"});
  const Value otherwise = is_given(given[0]) ? given[0] : Value::real(0);
  if (value.is_undefined()) fail_undefined(value);
  if (value.is_number()) return Value::real(value.number());
  const auto number = value.is_text() ? parsed_float(value.text()) : std::nullopt;
  return number ? Value::real(*number) : otherwise;
}

Value absolute(Runtime&, V value, A arguments) {
  bound("abs", arguments, {});
  if (!value.is_number()) fail_type("abs", value);
  if (value.is(Kind::kFloat)) return Value::real(std::abs(value.number()));
  return value.whole() < 0 ? negated(value) : Value::integer(value.whole());
}

/// round() of a whole number: to tens, hundreds, .. if `precision` is negative.
Value rounded_whole(Int number, int64_t precision) {
  if (precision >= 0) return Value::integer(number);
  Int unit = 1;
  for (int64_t i = precision; i < 0; ++i) {
    if (__builtin_mul_overflow(unit, Int{10}, &unit)) return Value::integer(0);
  }
  Int rest = number % unit;
  if (rest < 0) rest += unit;
  Int low = number - rest;
  const Int half = unit / 2;
  if (rest > half || (rest == half && (low / unit) % 2 != 0)) low += unit;
  return Value::integer(low);
}

Value to_round(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("round", arguments, {"precision", "method"});
  const int64_t precision = is_given(given[0]) ? whole_number(given[0], "round") : 0;
  const std::string method = is_given(given[1]) ? printed(runtime, given[1]) : "common";
  if (method != "common" && method != "ceil" && method != "floor") {
    throw Failure("round: the method is \"common\", \"ceil\" or \"floor\"");
  }
  if (!value.is_number()) fail_type("round", value);
  if (method == "common") {
    if (value.is_whole()) return rounded_whole(value.whole(), precision);
    return Value::real(rounded(value.number(), precision));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double number = value.number() * scale;
  if (!std::isfinite(number)) throw Failure("round: the number has no end");
  const double result = method == "ceil" ? std::ceil(number) : std::floor(number);
  return Value::real(result / scale);
}

Value file_size(Runtime& runtime, V value, A arguments) {
  const std::vector<Value> given = bound("filesizeformat", arguments, {"binary"});
  const Value number = to_float(runtime, value, {.positional = {Value::none()}});
  if (number.is_none()) throw Failure("filesizeformat needs a number");
  const bool is_binary = is_true(runtime, given[0]);
  const double base = is_binary ? 1024 : 1000, bytes = number.number();
  if (bytes == 1) return runtime.text("1 Byte");
  if (bytes < base) {
    return runtime.text(printed_whole(static_cast<Int>(std::trunc(bytes))) + " Bytes");
  }
  constexpr std::string_view kUnits = "kMGTPEZY";
  double unit = base * base;
  size_t i = 0;
  for (; i + 1 < kUnits.size() && bytes >= unit; ++i) unit *= base;
  const std::string name =
      is_binary ? std::string(1, i == 0 ? 'K' : kUnits[i]) + "iB" : std::string(1, kUnits[i]) + "B";
  return runtime.text(fmt::format("{:.1f} {}", base * bytes / unit, name));
}

}  // namespace

const Methods& number_filters() {
  static const Methods filters = {{"int", to_int},
                                  {"float", to_float},
                                  {"abs", absolute},
                                  {"round", to_round},
                                  {"filesizeformat", file_size}};
  return filters;
}

}  // namespace predgen::jinja

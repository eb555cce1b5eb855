#include "core/config_value.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "core/files.h"
#include "core/json.h"

namespace predgen {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Decimal, without a leading zero, which other YAML readers take for octal.
bool is_plain_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_digits(text) && (text == "0" || text[0] != '0');
}

/// Digits with a point, an exponent or both; no hexadecimal, no inf, no 010.5.
bool is_plain_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && is_digits(text.substr(1, 1))) return false;
  return !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
}

template <typename T>
std::optional<T> parse_number(const std::string& text) {
  T value;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

template <typename T>
const char* value_kind() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer such as 10 or 1000";
  if constexpr (std::is_same_v<T, double>) return "a number such as 0.1 or 2e-5";
  if constexpr (std::is_same_v<T, std::string>) return "text";
  return "a path";
}

template <typename T>
std::optional<T> parse_value(const std::string& text, bool quoted) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return std::filesystem::path(expand_variables(text));
  } else if (quoted) {
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return is_plain_integer(text) ? parse_number<T>(text) : std::nullopt;
  } else {
    static_assert(std::is_same_v<T, double>);
    return is_plain_number(text) ? parse_number<T>(text) : std::nullopt;
  }
}

std::string quoted_yaml(const std::string& text) {  // a JSON string is a YAML string
  return to_text(Json(text));
}

#define PREDGEN_VALUE_TYPE(T)                                                \
  template std::optional<T> parse_value<T>(const std::string&, bool quoted); \
  template const char* value_kind<T>()
PREDGEN_VALUE_TYPE(bool);
PREDGEN_VALUE_TYPE(int64_t);
PREDGEN_VALUE_TYPE(double);
PREDGEN_VALUE_TYPE(std::string);
PREDGEN_VALUE_TYPE(std::filesystem::path);
#undef PREDGEN_VALUE_TYPE

}  // namespace predgen

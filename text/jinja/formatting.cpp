#include "text/jinja/formatting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace predgen::jinja

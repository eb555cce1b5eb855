#include "data/python_json.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/error.h"

namespace predgen::data {
namespace {

/// The code unit of the escape "\uXXXX" at the beginning of `text`.
std::optional<unsigned> escaped_unit(std::string_view text) {
  constexpr size_t kLength = 6;
  if (text.size() < kLength || !text.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const char* end = text.data() + kLength;
  const auto [stop, error] = std::from_chars(text.data() + 2, end, unit, 16);
  return error == std::errc() && stop == end ? std::optional(unit) : std::nullopt;
}

bool is_high(unsigned unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low(unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

struct Mended {
  std::string text;
  bool has_lone_surrogate = false;
};

/// Copies the escape at the beginning of `rest`; returns its length.
size_t mend_escape(std::string_view rest, Mended& mended) {
  const std::optional<unsigned> unit = escaped_unit(rest);
  if (!unit) {
    mended.text += rest.substr(0, 2);
    return std::min<size_t>(2, rest.size());
  }
  constexpr size_t kLength = 6;
  const std::optional<unsigned> next = escaped_unit(rest.substr(kLength));
  if (is_high(*unit) && next && is_low(*next)) {
    mended.text += rest.substr(0, 2 * kLength);
    return 2 * kLength;
  }
  const bool is_alone = is_high(*unit) || is_low(*unit);
  mended.has_lone_surrogate |= is_alone;
  mended.text += is_alone ? "\\ufffd" : rest.substr(0, kLength);
  return kLength;
}

Mended mend(std::string_view text) {
  Mended mended;
  bool in_string = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (in_string && rest.front() == '\\') {
      at += mend_escape(rest, mended);
      continue;
    }
    size_t length = 1;
    if (!in_string) {
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
        if (rest.starts_with(word)) length = word.size();
      }
    }
    if (rest.front() == '"') in_string = !in_string;
    mended.text += length > 1 ? std::string_view("null") : rest.substr(0, 1);
    at += length;
  }
  return mended;
}

Json parse(std::string_view text) {
  return checked_json("not valid JSON", [&] { return Json::parse(text); });
}

}  // namespace

PythonJson parse_python_json(std::string_view text) {
  check_json_depth(text, "not valid JSON");
  try {
    return {parse(text)};
  } catch (const UserError&) {
    const Mended mended = mend(text);
    if (mended.text == text) throw;
    return {parse(mended.text), mended.has_lone_surrogate};
  }
}

}  // namespace predgen::data

#include "data/python_json.h"

#include <string>

#include "core/error.h"

namespace predgen::data {
namespace {

/// NaN and infinities, which Python writes and JSON does not have, become null.
std::string with_numbers_only(std::string_view text) {
  std::string plain;
  bool in_string = false;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::string_view piece = rest.substr(0, in_string && rest.front() == '\\' ? 2 : 1);
    size_t length = piece.size();
    if (rest.front() == '"') in_string = !in_string;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (in_string || !rest.starts_with(word)) continue;
      piece = "null";
      length = word.size();
    }
    plain += piece;
    at += length;
  }
  return plain;
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
    const std::string whole = with_whole_surrogates(text);
    const std::string mended = with_numbers_only(whole);
    if (mended == text) throw;
    return {parse(mended), whole != text};
  }
}

}  // namespace predgen::data

#include "core/json.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<nlohmann::ordered_json>;

namespace predgen {
namespace {

/// A library exception's message, without its name: "[json.exception.parse_error.101] parse error
/// at line 1, column 2: .." becomes "line 1, column 2: ..".
std::string json_problem(std::string what) {
  if (what.starts_with("[json.exception.")) what.erase(0, what.find("] ") + 2);
  for (const std::string_view start : {"parse error at ", "type "}) {
    if (what.starts_with(start)) what.erase(0, start.size());
  }
  return what;
}

constexpr size_t kMaxJsonDepth = 200;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxKeys = 1000, kMaxKeysInAll = 100'000;

/// `text` may not be JSON at all.
void check(std::string_view text, const std::string& where, int64_t max_keys,
           int64_t max_keys_in_all) {
  std::vector<int64_t> num_keys;  // of the enclosing objects and lists
  int64_t num_keys_in_all = 0;
  bool in_string = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      num_keys.push_back(0);
      if (num_keys.size() > kMaxJsonDepth) {
        throw UserError("{}: JSON nested more than {} deep at byte {}", where, kMaxJsonDepth, at);
      }
    } else if (num_keys.empty()) {
      continue;
    } else if (c == '}' || c == ']') {
      num_keys.pop_back();
    } else if (c == ':') {
      if (++num_keys.back() > max_keys) {
        throw UserError("{}: JSON object of more than {} keys at byte {}", where, max_keys, at);
      }
      if (++num_keys_in_all > max_keys_in_all) {
        throw UserError("{}: JSON of more than {} keys in all at byte {}", where, max_keys_in_all,
                        at);
      }
    }
  }
}

/// The code of "\uXXXX" at byte `at`; 0 if there is no such escape.
uint32_t escaped_code(std::string_view text, size_t at) {
  if (text.size() < at + 6 || text[at] != '\\' || text[at + 1] != 'u') return 0;
  uint32_t code = 0;
  const char* const end = text.data() + at + 6;
  const auto read = std::from_chars(text.data() + at + 2, end, code, 16);
  return read.ec == std::errc() && read.ptr == end ? code : 0;
}

bool is_first_half(uint32_t code) { return code >= 0xD800 && code < 0xDC00; }
bool is_second_half(uint32_t code) { return code >= 0xDC00 && code < 0xE000; }

/// Parses without the checks.
Json parse(std::string_view text, const std::string& where) {
  return checked_json(where + ": not valid JSON", [&] { return Json::parse(text); });
}

}  // namespace

void fail_json(const std::string& what, const nlohmann::json::exception& error) {
  constexpr size_t kMostOfError = 300;  // it quotes the text
  throw UserError("{}: {}", what, shortened(json_problem(error.what()), kMostOfError));
}

void check_json_depth(std::string_view text, const std::string& where) {
  check(text, where, kAny, kAny);
}

Json parse_json(std::string_view text, const std::string& where) {
  check_json_depth(text, where);
  return parse(text, where);
}

bool json_flag(const Json& object, const char* key, bool otherwise, const std::string& where) {
  return object.contains(key) && !object[key].is_null() ? json_get<bool>(object, key, where)
                                                        : otherwise;
}

Json parse_client_json(std::string_view text, const std::string& where) {
  check(text, where, kMaxKeys, kMaxKeysInAll);
  return parse(text, where);
}

std::string with_whole_surrogates(std::string_view json) {
  std::string whole;
  whole.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    size_t length = json[at] == '\\' ? 2 : 1;
    const uint32_t code = escaped_code(json, at);
    if (is_first_half(code) || is_second_half(code)) {
      const bool is_pair = is_first_half(code) && is_second_half(escaped_code(json, at + 6));
      length = is_pair ? 12 : 6;
      if (!is_pair) {
        whole += "\\ufffd";
        at += length;
        continue;
      }
    }
    whole += json.substr(at, length);
    at += length;
  }
  return whole;
}

Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.string());
}

std::string to_text(const Json& json, int indent) {
  return json.dump(indent, /*indent_char=*/' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

void fail_json_key(const char* key, const std::string& where, const std::string& why) {
  throw UserError("{}: \"{}\" {}", where, key, json_problem(why));
}

}  // namespace predgen

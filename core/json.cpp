#include "core/json.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json_problem.h"

namespace predgen {

std::string json_problem(std::string what) {
  if (what.starts_with("[json.exception.")) what.erase(0, what.find("] ") + 2);
  for (const std::string_view start : {"parse error at ", "type "}) {
    if (what.starts_with(start)) what.erase(0, start.size());
  }
  return what;
}

void check_json_depth(std::string_view text, const std::string& where) {
  constexpr int kMaxDepth = 200;
  int depth = 0;
  bool in_string = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) {
        throw UserError("{}: JSON nested more than {} deep at byte {}", where, kMaxDepth, at);
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

Json parse_json(std::string_view text, const std::string& where) {
  check_json_depth(text, where);
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw UserError("{}: not valid JSON: {}", where, json_problem(error.what()));
  }
}

Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.string());
}

void fail_json_key(const char* key, const std::string& where, const std::string& why) {
  throw UserError("{}: \"{}\" {}", where, key, json_problem(why));
}

}  // namespace predgen

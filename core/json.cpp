#include "core/json.h"

#include "core/error.h"
#include "core/files.h"

namespace predgen {

Json parse_json(std::string_view text, const std::string& where) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw UserError("{}: not valid JSON: {}", where, error.what());
  }
}

Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.string());
}

void fail_json_key(const char* key, const std::string& where, const std::string& why) {
  throw UserError("{}: \"{}\" {}", where, key, why);
}

}  // namespace predgen

#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace predgen {

/// Keeps the order in which keys were written.
using Json = nlohmann::ordered_json;

/// `where` names the text in the UserError of a syntax error.
Json parse_json(std::string_view text, const std::string& where);
/// UserError for lists and objects nested so deep that a copy could exhaust the stack; parse_json
/// asks it, other ways to parse should.
void check_json_depth(std::string_view text, const std::string& where);
Json read_json(const std::filesystem::path& file);

/// The value of `key`, or UserError naming `where`, the key and the wanted type.
template <typename T>
T json_get(const Json& object, const char* key, const std::string& where);

[[noreturn]] void fail_json_key(const char* key, const std::string& where, const std::string& why);

template <typename T>
T json_get(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object() || !object.contains(key)) fail_json_key(key, where, "is missing");
  try {
    return object.at(key).get<T>();
  } catch (const nlohmann::json::exception& error) {
    fail_json_key(key, where, error.what());
  }
}

}  // namespace predgen

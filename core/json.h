#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// Compiled once, in json.cpp: every source would compile its own copy.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;

namespace predgen {

/// Keeps keys in the order they were written.
using Json = nlohmann::ordered_json;

/// UserError with `what`, then the library's message without the exception's own name.
[[noreturn]] void fail_json(const std::string& what, const nlohmann::json::exception& error);

/// `where` names the text in the UserError of a syntax error.
Json parse_json(std::string_view text, const std::string& where);
/// UserError for lists and objects nested so deep that a copy could exhaust the stack; parse_json
/// calls this; other parsers should.
void check_json_depth(std::string_view text, const std::string& where);
Json read_json(const std::filesystem::path& file);

/// The value of `key`, or UserError naming `where`, the key and the wanted type.
template <typename T>
T json_get(const Json& object, const char* key, const std::string& where);
/// `otherwise` where the key is missing or null.
bool json_flag(const Json& object, const char* key, bool otherwise, const std::string& where);

/// Runs work(), which reads a document that may be malformed: then throws a UserError that begins
/// with `what`.
template <typename Work>
auto checked_json(const std::string& what, const Work& work) {
  try {
    return work();
  } catch (const nlohmann::json::exception& error) {
    fail_json(what, error);
  }
}

/// Serialised on one line, or on many, indented by `indent`. Ill-formed UTF-8, as a path may have,
/// becomes U+FFFD; dump() would throw there.
std::string to_text(const Json& json, int indent = -1);

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

/// JSON text in which halves of surrogate pairs ("\ud83d" alone), which are no characters, are
/// replaced by U+FFFD; the parser would refuse the text. Python's json, for example, writes them.
std::string with_whole_surrogates(std::string_view json);

/// parse_json for what a client sent. UserError, too, for more than 1,000 keys in an object, or
/// 100,000 in all: looking up a key compares it with all others of its object.
Json parse_client_json(std::string_view text, const std::string& where);

}  // namespace predgen

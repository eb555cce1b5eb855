#include "runtime/generate/generation_defaults.h"

#include "core/json.h"

namespace predgen {
namespace {

bool has_value(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && !json.at(key).is_null();
}

TokenIds read_ids(const Json& json, const char* key, const std::string& where) {
  if (json.at(key).is_array()) return json_get<TokenIds>(json, key, where);
  return {json_get<TokenId>(json, key, where)};
}

template <typename T>
std::optional<T> read_optional(const Json& json, const char* key, const std::string& where) {
  if (!has_value(json, key)) return std::nullopt;
  return json_get<T>(json, key, where);
}

}  // namespace

GenerationDefaults read_generation_defaults(const std::filesystem::path& folder) {
  constexpr const char* kStop = "eos_token_id";
  GenerationDefaults defaults;
  const std::filesystem::path file = folder / "generation_config.json";
  if (std::filesystem::exists(file)) {
    const Json json = read_json(file);
    const std::string where = file.string();
    defaults.temperature = read_optional<double>(json, "temperature", where);
    defaults.top_p = read_optional<double>(json, "top_p", where);
    defaults.top_k = read_optional<int64_t>(json, "top_k", where);
    if (has_value(json, kStop)) {
      defaults.stop_tokens = read_ids(json, kStop, where);
      return defaults;
    }
  }
  const Json config = read_json(folder / "config.json");
  if (has_value(config, kStop)) {
    defaults.stop_tokens = read_ids(config, kStop, (folder / "config.json").string());
  }
  return defaults;
}

}  // namespace predgen

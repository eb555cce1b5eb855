#include "model/config_fields.h"

#include "core/error.h"

namespace predgen {

int64_t ConfigFields::size(const char* key) const {
  if (!has(key)) fail(key, "is missing");
  const Json& value = json_.at(key);
  constexpr int64_t kLargest = int64_t{1} << 30;
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kLargest) {
    fail(key, fmt::format("must be a positive integer, not {}", value.dump()));
  }
  return value.get<int64_t>();
}

int64_t ConfigFields::size(const char* key, int64_t fallback) const {
  return has(key) ? size(key) : fallback;
}

double ConfigFields::positive(const char* key) const {
  if (!has(key)) fail(key, "is missing");
  const Json& value = json_.at(key);
  if (!value.is_number() || !(value.get<double>() > 0)) {
    fail(key, fmt::format("must be a positive number, not {}", value.dump()));
  }
  return value.get<double>();
}

double ConfigFields::positive(const char* key, double fallback) const {
  return has(key) ? positive(key) : fallback;
}

bool ConfigFields::flag(const char* key, bool fallback) const {
  return has(key) ? json_get<bool>(json_, key, where_) : fallback;
}

std::string ConfigFields::word(const char* key, const std::string& fallback) const {
  return has(key) ? json_get<std::string>(json_, key, where_) : fallback;
}

void ConfigFields::only(const char* key, const Json& honoured) const {
  if (has(key) && json_.at(key) != honoured) {
    throw UserError("{}: \"{}\": {} is not supported, only {}", where_, key, json_.at(key).dump(),
                    honoured.dump());
  }
}

void ConfigFields::absent(const char* key) const {
  if (has(key)) throw UserError("{}: \"{}\" is not supported", where_, key);
}

void ConfigFields::fail(const char* key, const std::string& why) const {
  fail_json_key(key, where_, why);
}

}  // namespace predgen

#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"

namespace predgen {

/// Fields of a config.json, each read with its check; null counts as absent, as in transformers.
/// Every failure is a UserError that names `where` and the field. Borrows the JSON.
class ConfigFields {
 public:
  ConfigFields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  /// Whether the key is present with the value null.
  bool is_null(const char* key) const { return json_.contains(key) && json_.at(key).is_null(); }

  int64_t size(const char* key) const;  // positive, and small enough that a product of two fits
  int64_t size(const char* key, int64_t fallback) const;
  double positive(const char* key) const;
  double positive(const char* key, double fallback) const;
  bool flag(const char* key, bool fallback) const;
  std::string word(const char* key, const std::string& fallback) const;

  /// Refuses any value of `key` other than `honoured`.
  void only(const char* key, const Json& honoured) const;
  void absent(const char* key) const;

  const Json& at(const char* key) const { return json_.at(key); }
  const Json& json() const { return json_; }
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const char* key, const std::string& why) const;

 private:
  const Json& json_;
  std::string where_;
};

}  // namespace predgen

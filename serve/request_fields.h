#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace predgen::serve {

/// The fields of a request's JSON object, or of one in it. A null counts as a missing field. Throws
/// an ApiError that names the field, and where it is.
class RequestFields {
 public:
  explicit RequestFields(std::string_view body);
  /// `path`: of the object in the request, for messages.
  RequestFields(const Json& object, const std::string& path);

  /// A missing `required` field refuses the request.
  std::optional<std::string> text(const std::string& name, bool required = false);
  std::optional<double> number(const std::string& name, double lowest, double highest);
  std::optional<int64_t> integer(const std::string& name, int64_t lowest, int64_t highest);
  bool flag(const std::string& name);
  /// For fields where a null differs from a missing field.
  bool is_null(const std::string& name);
  /// Of any type; null if it is missing.
  const Json& any(const std::string& name, bool required = false);

  /// The object in a field, without fields if it is missing.
  RequestFields object(const std::string& name);

  /// The field must have one of these values, which change nothing; others are not supported.
  void expect_neutral(const std::string& name, const std::vector<Json>& neutral);
  /// Accepts a field that changes no answer.
  void ignore(const std::string& name) { known_.insert(name); }
  /// Call once, at the end: refuses fields that were not asked for.
  void finish() const;

  /// A field's name in the whole request, as the following functions expect it.
  std::string full_name(const std::string& name) const { return prefix_ + name; }
  [[noreturn]] static void fail_type(const std::string& name, const std::string& expected,
                                     const Json& value);
  [[noreturn]] static void fail_value(const std::string& name, const std::string& why);
  [[noreturn]] static void fail_unsupported(const std::string& name, const std::string& why);

 private:
  std::string prefix_;  // of names
  Json fields_;
  std::set<std::string> known_;
};

}  // namespace predgen::serve

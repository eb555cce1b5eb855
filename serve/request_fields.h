#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace predgen::serve {

/// The fields of a request's JSON object, or of one in it. A null counts as a field that is not
/// there. Throws an ApiError that names the field, and where it is.
class RequestFields {
 public:
  explicit RequestFields(std::string_view body);
  /// `path`: of the object in the request, for messages.
  RequestFields(const Json& object, const std::string& path);

  /// Those that are `required` are there, or the request is refused.
  std::optional<std::string> text(const std::string& name, bool required = false);
  std::optional<double> number(const std::string& name, double lowest, double highest);
  std::optional<int64_t> integer(const std::string& name, int64_t lowest, int64_t highest);
  bool flag(const std::string& name);
  /// Where a null says more than a field that is not there.
  bool is_null(const std::string& name);
  /// Whatever it is; null if it is not there.
  const Json& any(const std::string& name, bool required = false);

  /// The object in a field, without fields if it is not there.
  RequestFields object(const std::string& name);

  /// Has one of these values, which change nothing; others are not supported.
  void expect_neutral(const std::string& name, const std::vector<Json>& neutral);
  /// Changes no answer.
  void ignore(const std::string& name) { known_.insert(name); }
  /// Call once, at the end: refuses fields that nobody asked for.
  void finish() const;

  /// A field's name in the whole request, which is what the following want.
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

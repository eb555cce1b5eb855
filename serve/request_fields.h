#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/setting.h"

namespace predgen::serve {

/// The fields of a request's JSON object, or of one in it. A null counts as a missing field, and a
/// whole float (4.0) as an integer. Half a surrogate pair in the body becomes U+FFFD. Throws an
/// ApiError that names the field, and where it is.
///
/// A reader asks for what it honours, says what it ignores (ignore()) and what it cannot do
/// (expect_neutral()), and decides about the rest: finish() refuses it, not_known() names it.
/// Parameters that chats share with other endpoints are in serve/openai/request_parameters.h.
class RequestFields {
 public:
  explicit RequestFields(std::string_view body);
  /// `path`: of the object in the request, for messages.
  RequestFields(const Json& object, const std::string& path);

  /// A missing `required` field refuses the request.
  std::optional<std::string> text(const std::string& name, bool required = false);
  std::optional<double> number(const std::string& name, double lowest, double highest);
  std::optional<int64_t> integer(const std::string& name, int64_t lowest, int64_t highest);
  /// A number of tokens, at least 1: a negative one, and one too large for an integer, mean that
  /// there is no limit (the largest integer).
  std::optional<int64_t> limit(const std::string& name);
  /// An integer of any sign and of up to 64 bits.
  std::optional<uint64_t> seed(const std::string& name);
  bool flag(const std::string& name);
  /// For fields where a null differs from a missing field.
  bool is_null(const std::string& name);
  /// Of any type; null if it is missing.
  const Json& any(const std::string& name, bool required = false);

  /// Numbers that may be absent, by their names and within their bounds.
  void numbers(const Settings& settings);

  /// The object in a field, without fields if it is missing.
  RequestFields object(const std::string& name);

  /// `other` is another name of `name`: its value counts where the field itself is missing.
  void alias(const std::string& name, const std::string& other);
  /// The fields of the object `name` count as if they stood beside it; those that do so are
  /// stronger.
  void merge(const std::string& name);

  /// The field must have one of these values, which change nothing; others are not supported.
  void expect_neutral(const std::string& name, const std::vector<Json>& neutral);
  /// Accepts a field that changes no answer.
  void ignore(const std::string& name) { known_.insert(name); }
  /// Call once, at the end: refuses fields that were not asked for.
  void finish() const;
  /// Instead of finish(): the full names of fields that were not asked for, long ones cut.
  std::vector<std::string> not_known() const;
  /// The whole object.
  const Json& all() const { return fields_; }
  /// All names that were asked for or ignored so far.
  const std::set<std::string>& known() const { return known_; }

  /// A field's name in the whole request, as the following functions expect it.
  std::string full_name(const std::string& name) const;
  [[noreturn]] static void fail_type(const std::string& name, const std::string& expected,
                                     const Json& value);
  [[noreturn]] static void fail_value(const std::string& name, const std::string& why);
  [[noreturn]] static void fail_unsupported(const std::string& name, const std::string& why);

 private:
  std::string prefix_;  // of names
  Json fields_;
  std::set<std::string> known_;
  std::map<std::string, std::string> places_;  // full names of fields that stand elsewhere
};

}  // namespace predgen::serve

#include "serve/request_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/edit_distance.h"
#include "core/json.h"
#include "core/text.h"
#include "serve/api_error.h"

namespace predgen::serve {
namespace {

/// The integers that a double can tell apart from their neighbours, and more.
constexpr double kLargest = 9.2e18;

/// A whole float that fits as the integer that it means; anything else as it is.
Json as_integer(const Json& value) {
  if (!value.is_number_float()) return value;
  const auto number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) > kLargest) return value;
  return static_cast<int64_t>(number);
}

}  // namespace

RequestFields::RequestFields(std::string_view body) {
  try {
    fields_ = parse_client_json(with_whole_surrogates(body), "the request's body");
  } catch (const UserError& error) {
    throw ApiError({}, error.what());
  }
  if (!fields_.is_object()) throw ApiError({}, "the request's body must be a JSON object");
}

RequestFields::RequestFields(const Json& object, const std::string& path) : fields_(object) {
  if (!path.empty()) prefix_ = path + ".";
  if (fields_.is_null()) fields_ = Json::object();
  if (fields_.is_object()) return;
  throw ApiError({.param = path, .code = "invalid_type"},
                 fmt::format("invalid type for '{}': expected an object, but got {}", path,
                             fields_.type_name()));
}

void RequestFields::fail_type(const std::string& name, const std::string& expected,
                              const Json& value) {
  throw ApiError({.param = name, .code = "invalid_type"},
                 fmt::format("invalid type for '{}': expected {}, but got {}", name, expected,
                             value.type_name()));
}

void RequestFields::fail_value(const std::string& name, const std::string& why) {
  throw ApiError({.param = name, .code = "invalid_value"},
                 fmt::format("invalid value for '{}': {}", name, why));
}

void RequestFields::fail_unsupported(const std::string& name, const std::string& why) {
  throw ApiError({.param = name, .code = "unsupported_value"}, fmt::format("'{}' {}", name, why));
}

void RequestFields::numbers(const Settings& settings) {
  for (const Setting& setting : settings) {
    if (const auto* whole = std::get_if<Setting::Number<int64_t>>(&setting.place)) {
      *whole->maybe = integer(setting.name, whole->bounds.lowest, whole->bounds.highest);
    } else {
      const auto& real = std::get<Setting::Number<double>>(setting.place);
      *real.maybe = number(setting.name, real.bounds.lowest, real.bounds.highest);
    }
  }
}

RequestFields RequestFields::object(const std::string& name) {
  return RequestFields(any(name), full_name(name));
}

const Json& RequestFields::any(const std::string& name, bool required) {
  static const Json kNothing;
  known_.insert(name);
  const auto found = fields_.find(name);
  if (found != fields_.end() && !found->is_null()) return *found;
  if (required) {
    throw ApiError({.param = full_name(name), .code = "missing_required_parameter"},
                   fmt::format("missing required parameter: '{}'", full_name(name)));
  }
  return kNothing;
}

std::optional<std::string> RequestFields::text(const std::string& name, bool required) {
  const Json& value = any(name, required);
  if (value.is_null()) return std::nullopt;
  if (!value.is_string()) fail_type(full_name(name), "a string", value);
  return value.get<std::string>();
}

std::optional<double> RequestFields::number(const std::string& name, double lowest,
                                            double highest) {
  const Json& value = any(name);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number()) fail_type(full_name(name), "a number", value);
  const auto number = value.get<double>();
  if (!(number >= lowest && number <= highest)) {
    fail_value(full_name(name), fmt::format("must be from {} to {}", lowest, highest));
  }
  return number;
}

std::optional<int64_t> RequestFields::integer(const std::string& name, int64_t lowest,
                                              int64_t highest) {
  const Json value = as_integer(any(name));
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_integer()) fail_type(full_name(name), "an integer", value);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const bool is_beyond =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(kMost);
  if (is_beyond || value.get<int64_t>() < lowest || value.get<int64_t>() > highest) {
    fail_value(full_name(name), highest == kMost
                                    ? fmt::format("must be at least {}", lowest)
                                    : fmt::format("must be from {} to {}", lowest, highest));
  }
  return value.get<int64_t>();
}

std::optional<int64_t> RequestFields::limit(const std::string& name) {
  const Json& value = any(name);
  const bool is_beyond =
      value.is_number() && (value.get<double>() < 0 || value.get<double>() > kLargest);
  if (is_beyond) return std::numeric_limits<int64_t>::max();
  return integer(name, 1, std::numeric_limits<int64_t>::max());
}

std::optional<uint64_t> RequestFields::seed(const std::string& name) {
  const Json value = as_integer(any(name));
  if (value.is_null()) return std::nullopt;
  if (!value.is_number_integer()) fail_type(full_name(name), "an integer", value);
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  return static_cast<uint64_t>(value.get<int64_t>());
}

bool RequestFields::flag(const std::string& name) {
  const Json& value = any(name);
  if (value.is_null()) return false;
  if (!value.is_boolean()) fail_type(full_name(name), "a boolean", value);
  return value.get<bool>();
}

bool RequestFields::is_null(const std::string& name) {
  known_.insert(name);
  const auto found = fields_.find(name);
  return found != fields_.end() && found->is_null();
}

void RequestFields::alias(const std::string& name, const std::string& other) {
  const Json value = any(other);
  if (value.is_null() || !any(name).is_null()) return;
  places_[name] = full_name(other);
  fields_[name] = value;
}

void RequestFields::merge(const std::string& name) {
  const Json inner = any(name);
  if (inner.is_null()) return;
  if (!inner.is_object()) fail_type(full_name(name), "an object", inner);
  for (const auto& [key, value] : inner.items()) {
    const auto own = fields_.find(key);
    if (own != fields_.end() && !own->is_null()) continue;
    places_[key] = full_name(name) + "." + key;
    fields_[key] = value;
  }
}

std::string RequestFields::full_name(const std::string& name) const {
  const auto elsewhere = places_.find(name);
  return elsewhere == places_.end() ? prefix_ + name : elsewhere->second;
}

void RequestFields::expect_neutral(const std::string& name, const std::vector<Json>& neutral) {
  const Json& value = any(name);
  const nlohmann::json sorted(value);  // the order of keys does not matter
  const auto is_same = [&](const Json& one) { return nlohmann::json(one) == sorted; };
  if (value.is_null() || std::ranges::any_of(neutral, is_same)) return;
  if (neutral.empty()) fail_unsupported(full_name(name), "is not supported");
  fail_unsupported(full_name(name), fmt::format("is supported as {} only", neutral.front().dump()));
}

std::vector<std::string> RequestFields::not_known() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : fields_.items()) {
    if (!known_.contains(name)) names.push_back(shortened(full_name(name)));
  }
  return names;
}

void RequestFields::finish() const {
  for (const auto& [name, value] : fields_.items()) {
    if (known_.contains(name)) continue;
    const std::string whose = full_name(shortened(name));
    throw ApiError({.param = whose, .code = "unknown_parameter"},
                   fmt::format("unknown parameter: '{}'; {}", whose,
                               suggest(name, {known_.begin(), known_.end()})));
  }
}

}  // namespace predgen::serve

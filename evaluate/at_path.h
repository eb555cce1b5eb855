#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "core/json.h"

namespace predgen::evaluate {

// Values of a results.json, which may lack keys.

/// Null where a key of the path is missing.
const Json& at_path(const Json& object, std::initializer_list<std::string> path);
/// The number there, else nullopt.
std::optional<double> number_at(const Json& object, std::initializer_list<std::string> path);
/// The string there, else empty.
std::string text_at(const Json& object, std::initializer_list<std::string> path);

}  // namespace predgen::evaluate

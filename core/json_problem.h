#pragma once

#include <string>

namespace predgen {

/// What an exception of the JSON library says, without its name: "[json.exception.parse_error.101]
/// parse error at line 1, column 2: .." becomes "line 1, column 2: ..".
std::string json_problem(std::string what);

}  // namespace predgen

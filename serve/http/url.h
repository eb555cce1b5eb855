#pragma once

#include <string>
#include <string_view>

namespace predgen::serve {

/// %2F is a slash. What is no such code stays as it is.
std::string percent_decoded(std::string_view text);

/// The path that a request means: decoded, with single slashes, and none at its end. "/" stays.
std::string plain_path(std::string_view path);

}  // namespace predgen::serve

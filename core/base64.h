#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace predgen {

/// RFC 4648, with padding.
std::string to_base64(std::string_view bytes);
/// Nothing for what is none, or has no padding.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace predgen

#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// RFC 4648, with padding.
std::string to_base64(std::string_view bytes);

}  // namespace predgen

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace predgen {

/// RFC 4648, with padding.
std::string to_base64(std::string_view bytes);
/// Also without padding, with line breaks and other white space, or in the alphabet of URLs, as the
/// decoders of other programs take it. Nothing for what is none, or was cut inside a group.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace predgen

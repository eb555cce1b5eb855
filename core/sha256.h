#pragma once

#include <string>
#include <string_view>

namespace predgen {

/// SHA-256 (FIPS 180-4) in lower-case hexadecimal digits: for keys that are stored only as hashes.
std::string sha256_hex(std::string_view bytes);

}  // namespace predgen

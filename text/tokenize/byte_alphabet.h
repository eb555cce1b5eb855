#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace predgen {

/// The printable character that stands for `byte` in byte-level vocabularies ("Ġ" for a space).
std::string byte_letter(uint8_t byte);

/// The bytes that a token spells; none if a character is not a byte's letter.
std::optional<std::string> bytes_of_letters(std::string_view token);

}  // namespace predgen

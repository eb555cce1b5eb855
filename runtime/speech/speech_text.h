#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace predgen {

/// What a voice is given: control characters become spaces, ends trimmed, ill-formed UTF-8 dropped.
/// Empty if no letter and no digit is in it.
std::string speakable_text(std::string_view sentence);

/// Unicode characters of well-formed UTF-8.
int64_t count_characters(std::string_view text);

}  // namespace predgen

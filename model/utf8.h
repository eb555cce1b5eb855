#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace predgen {

/// UserError with `what` and the first bad byte's offset if `text` is not well-formed UTF-8.
void require_utf8(std::string_view text, std::string_view what);

/// The length of `text` without the bytes of a last character that has only begun.
size_t complete_utf8_length(std::string_view text);

/// Replaces every maximal ill-formed piece by U+FFFD, as Unicode recommends (and Python does).
std::string replace_ill_formed_utf8(std::string_view text);

}  // namespace predgen

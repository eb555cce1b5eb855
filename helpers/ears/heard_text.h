#pragma once

#include <cstdint>
#include <string>

namespace predgen::ears {

/// What a recogniser makes of `voice` samples of voice (and of the silence around them), without
/// what it only makes up: Whisper has words for silence and noise, and gets stuck in one word.
std::string believable_text(const std::string& text, int64_t voice);

/// `text` without the mark at its end: while somebody speaks on, half of Whisper's texts end in
/// one.
std::string without_end_mark(const std::string& text);

/// English in capitals, as some of these models write it, in small letters but for "I".
std::string in_small_letters(const std::string& text);

}  // namespace predgen::ears

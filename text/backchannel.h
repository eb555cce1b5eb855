#pragma once

#include <string>

namespace predgen {

/// Whether these words, in any case and punctuation, only signal listening ("hm", "yeah, okay"), or
/// there are none. `language`: Whisper's code; empty: unknown, so the words of all languages count.
/// A language without a word list has only its sounds.
bool is_backchannel(const std::string& words, const std::string& language = "en");

}  // namespace predgen

#pragma once

#include <string>

namespace predgen {

/// Whether these words, in any case and with any marks, only show that somebody listens ("hm",
/// "yeah, okay"), or are none. `language`: its code, as Whisper has it; empty: nobody knows, and
/// those of all languages count. A language without a list has its sounds alone.
bool is_backchannel(const std::string& words, const std::string& language = "en");

}  // namespace predgen

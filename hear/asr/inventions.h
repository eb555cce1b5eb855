#pragma once

#include <cstdint>
#include <string>

namespace predgen::ears {

/// Whisper was trained on videos, so what it writes for silence and noise is what these end with:
/// thanks, requests to subscribe, credits of subtitles. How much voice, in samples, there must be
/// before `text` is believed to have been said; 0: it is none of these, or more than that.
int64_t voice_to_believe(const std::string& text);

}  // namespace predgen::ears

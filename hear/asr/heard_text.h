#pragma once

#include <cstdint>
#include <string>

namespace predgen::ears {

/// Whisper was trained on videos, so what it writes for silence and noise is what these end with:
/// thanks, requests to subscribe, credits of subtitles. How much voice, in samples, there must be
/// before `text` is believed to have been said; 0: it is none of these, or more than that.
int64_t voice_to_believe(const std::string& text);

/// A recogniser's text for `voice` samples of voice (and the silence around them), without its
/// hallucinations: Whisper has words for silence and noise, gets stuck in one word, and starts over
/// when it has written all.
std::string believable_text(const std::string& text, int64_t voice);

/// `text` without the mark at its end: while somebody is still speaking, half of Whisper's texts
/// end in one.
std::string without_end_mark(const std::string& text);

/// Lower-cases all-capitals English, which some of these models write, except for "I".
std::string in_small_letters(const std::string& text);

}  // namespace predgen::ears

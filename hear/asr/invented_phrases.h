#pragma once

#include <span>

namespace predgen::ears {

// What Whisper writes for silence and noise, in lower case without marks at the end, in the ten
// languages with most speakers and in others that have many recordings.

/// Thanks and goodbyes, which people say, too.
std::span<const char* const> invented_words();
/// The last sentence of a video.
std::span<const char* const> invented_closings();
/// Who made the subtitles.
std::span<const char* const> invented_credits();
/// How other credits begin; a name, or Amara.org's community, follows.
std::span<const char* const> credits_before_names();
/// Words in those names that have no capital.
std::span<const char* const> words_between_names();

}  // namespace predgen::ears

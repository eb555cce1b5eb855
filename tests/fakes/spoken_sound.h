#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hear/asr/decoder.h"

namespace predgen::ears {

/// Sound that fakes hear words in: a word of 320 ms is a loud sample value, 1 for the first word, 2
/// for the second (times kWordStep), and silence is 0.
constexpr int64_t kWordSamples = 10 * kWindow;
constexpr float kWordStep = 0.01f;

inline void say(std::vector<float>& sound, int first, int last) {
  for (int word = first; word <= last; ++word) {
    sound.insert(sound.end(), kWordSamples, kWordStep * static_cast<float>(word));
  }
}

inline void pause(std::vector<float>& sound, int64_t num_windows) {
  sound.insert(sound.end(), static_cast<size_t>(num_windows * kWindow), 0.0f);
}

inline double hear_loudness(std::span<const float> window) { return window[0] != 0 ? 0.9 : 0.05; }

/// "1 2 3." for the words of which more than half is there, with a mark that does not mean much.
inline std::string words_in(std::span<const float> sound) {
  std::string text;
  for (size_t i = 0; i < sound.size();) {
    const size_t begin = i;
    while (i < sound.size() && sound[i] == sound[begin]) ++i;
    const bool is_word = sound[begin] != 0 && 2 * (i - begin) > kWordSamples;
    if (is_word) text += ' ' + std::to_string(std::lround(sound[begin] / kWordStep));
  }
  return text.empty() ? text : text + ".";
}

}  // namespace predgen::ears

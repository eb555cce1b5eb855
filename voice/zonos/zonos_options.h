#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/setting.h"
#include "model/load_options.h"
#include "voice/ahead_buffer.h"
#include "voice/zonos/code_generation.h"

namespace predgen {

/// A Zonos voice: its files, how it speaks, and how far ahead.
struct ZonosOptions {
  std::filesystem::path model, codec, speaker_model, voice, audio_prefix;
  std::string language = "en-us";
  bool english_numbers = true;  // as the model was trained

  std::vector<double> emotion = {0.3077, 0.0256, 0.0256, 0.0256, 0.0256, 0.0256, 0.2564, 0.3077};
  double fmax = 22050, pitch_std = 20, speaking_rate = 15;
  std::vector<std::string> unconditional;
  CodeGenerationConfig generation;

  int64_t ahead_steps = 34;
  /// Plays up to the last frame of the ahead buffer, without the codec's look-ahead of 108 ms. Its
  /// last 10 frames are approximate, and so is the seam after them.
  bool edge = false;

  LoadOptions load;
  std::filesystem::path espeak_helper;  // empty: predgen-espeak beside this program

  std::filesystem::path codec_folder() const { return codec.empty() ? model / "dac_44khz" : codec; }
  AheadBuffer ahead_buffer() const { return {.audio = Seconds(1e6), .steps = ahead_steps}; }
};

Settings settings_of(ZonosOptions& options);

}  // namespace predgen

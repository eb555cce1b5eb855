#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config.h"
#include "model/load_options.h"
#include "voice/ahead_buffer.h"
#include "voice/zonos/code_generation.h"

namespace predgen {

/// A Zonos voice: its files, how it speaks, and how far ahead.
struct ZonosOptions {
  std::filesystem::path model;          // Zyphra/Zonos-v0.1-transformer
  std::filesystem::path codec;          // descript/dac_44khz; empty: `model`/dac_44khz
  std::filesystem::path speaker_model;  // for a voice from sound; empty: `model`/speaker-embedding
  std::filesystem::path voice;          // speaker embedding or sound; empty: the model's own choice
  std::filesystem::path audio_prefix;   // sound that the speech continues; empty: none
  std::string language = "en-us";
  bool english_numbers = true;  // as the model was trained; false: espeak-ng reads digits

  std::vector<double> emotion = {0.3077, 0.0256, 0.0256, 0.0256, 0.0256, 0.0256, 0.2564, 0.3077};
  double fmax = 22050, pitch_std = 20, speaking_rate = 15;
  std::vector<std::string> unconditional;  // of emotion, fmax, pitch_std, speaking_rate
  CodeGenerationConfig generation;

  /// Steps run before a sentence is played: 34 steps are 194 ms of exact samples.
  int64_t ahead_steps = 34;
  /// Plays up to the last frame of the ahead buffer, without the codec's look-ahead of 108 ms, for
  /// the paper's small buffers. Its last 10 frames are approximate, and so is the seam after them.
  bool edge = false;

  LoadOptions load;
  std::filesystem::path espeak_helper;  // empty: predgen-espeak beside this program

  std::filesystem::path codec_folder() const { return codec.empty() ? model / "dac_44khz" : codec; }
  AheadBuffer ahead_buffer() const { return {.audio = Seconds(1e6), .steps = ahead_steps}; }
};

/// Reads them from a section; problems go to the reader.
ZonosOptions read_zonos_options(ConfigReader& reader);

}  // namespace predgen

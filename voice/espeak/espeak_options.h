#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/clock.h"
#include "core/config.h"

namespace predgen {

constexpr int64_t kSlowestEspeak = 80, kFastestEspeak = 450;  // words per minute

/// The embedded voice, and how it speaks.
struct EspeakOptions {
  std::filesystem::path helper{};  // empty: predgen-espeak beside this program
  std::string voice = "en-us";     // `espeak-ng --voices` lists them
  int64_t words_per_minute = 175;  // 80 to 450
  int64_t pitch = 50;              // 0 to 100
  Seconds timeout{10};             // for every piece of audio
};

/// Reads them from a section; problems go to the reader.
EspeakOptions read_espeak_options(ConfigReader& reader);

}  // namespace predgen

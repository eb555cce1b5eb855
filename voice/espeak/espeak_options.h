#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/clock.h"
#include "core/setting.h"

namespace predgen {

constexpr int64_t kSlowestEspeak = 80, kFastestEspeak = 450;  // words per minute

/// The embedded voice, and how it speaks.
struct EspeakOptions {
  std::filesystem::path helper{};  // empty: predgen-espeak beside this program
  std::string voice = "en-us";
  int64_t words_per_minute = 175, pitch = 50;
  Seconds timeout{10};  // for every piece of audio
};

Settings settings_of(EspeakOptions& options);

}  // namespace predgen

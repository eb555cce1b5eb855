#pragma once

#include <cstdint>
#include <filesystem>

#include "core/setting.h"
#include "voice/hibari/hibari_network.h"

namespace predgen {

/// The Hibari voice: where it is, and how it speaks.
struct HibariOptions {
  std::filesystem::path model{};  // empty: hibari_folder()
  HibariSettings settings{};
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program
};

Settings settings_of(HibariOptions& options);

/// Where scripts/fetch_model.py puts the voice.
std::filesystem::path hibari_folder();

}  // namespace predgen

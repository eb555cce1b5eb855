#pragma once

#include <cstdint>
#include <filesystem>

#include "core/config.h"
#include "voice/hibari/hibari_network.h"

namespace predgen {

/// The Hibari voice: where it is, and how it speaks.
struct HibariOptions {
  std::filesystem::path model{};  // folder of hibari.onnx and vocab.json; empty: hibari_folder()
  HibariSettings settings{};
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program
};

/// Reads them from a section; problems go to the reader.
HibariOptions read_hibari_options(ConfigReader& reader);

/// Where scripts/fetch_model.py puts the voice.
std::filesystem::path hibari_folder();

}  // namespace predgen

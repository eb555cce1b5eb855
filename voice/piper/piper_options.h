#pragma once

#include <filesystem>
#include <string>

#include "core/setting.h"
#include "voice/piper/piper_network.h"

namespace predgen {

/// A Piper voice: its location, its speaker, and how it speaks.
struct PiperOptions {
  std::filesystem::path voice{};
  std::string speaker{};
  PiperSettings settings{};
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program

  /// The .onnx file. UserError if there is none, or more than one.
  std::filesystem::path file() const;
};

Settings settings_of(PiperOptions& options);

}  // namespace predgen

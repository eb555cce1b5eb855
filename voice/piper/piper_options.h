#pragma once

#include <filesystem>
#include <string>

#include "core/config.h"
#include "voice/piper/piper_network.h"

namespace predgen {

/// A Piper voice: its location, its speaker, and how it speaks.
struct PiperOptions {
  // Its folder, a name in models_folder(), or its .onnx file, with the .onnx.json next to
  // it.
  std::filesystem::path voice{};
  std::string speaker{};  // one of several; empty: the first
  PiperSettings settings{};
  std::filesystem::path espeak_helper{};  // empty: predgen-espeak beside this program

  /// The .onnx file. UserError if there is none, or more than one.
  std::filesystem::path file() const;
};

/// Reads them from a section; problems go to the reader.
PiperOptions read_piper_options(ConfigReader& reader);

}  // namespace predgen

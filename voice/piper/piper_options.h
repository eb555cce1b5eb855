#pragma once

#include <filesystem>
#include <string>

#include "core/config.h"
#include "voice/piper/piper_network.h"

namespace predgen {

/// A Piper voice: where it is, who of it speaks, and how.
struct PiperOptions {
  // Its folder, the name of one among the models (models_folder()), or its .onnx file, beside which
  // the .onnx.json is.
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

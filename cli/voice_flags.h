#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "voice/make_voice.h"

namespace predgen::cli {

/// The name of default_voice_kind().
std::string best_voice();

/// The options of every command that speaks.
struct VoiceFlags {
  std::string tts = "none";
  std::string voice, language, model, codec, config;

  void add_to(CLI::App& command);
  /// UserError for flags that the chosen voice does not support.
  VoiceOptions parse() const;
};

}  // namespace predgen::cli

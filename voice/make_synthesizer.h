#pragma once

#include <memory>
#include <string>
#include <vector>

#include "voice/ahead_buffer.h"
#include "voice/espeak/espeak_synthesizer.h"
#include "voice/speech_synthesizer.h"
#include "voice/zonos/zonos_options.h"

namespace predgen {

enum class VoiceKind { kNone, kEspeak, kZonos };

/// "none", "espeak" and "zonos".
const std::vector<std::pair<std::string, VoiceKind>>& voice_kinds();

/// Which voice speaks, and how each would.
struct VoiceOptions {
  VoiceKind kind = VoiceKind::kNone;
  EspeakOptions espeak;
  ZonosOptions zonos;

  AheadBuffer ahead_buffer() const;
};

/// Null for kNone. UserError as the voice's constructor.
std::unique_ptr<SpeechSynthesizer> make_synthesizer(const VoiceOptions& options);

}  // namespace predgen

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "voice/espeak/espeak_options.h"
#include "voice/voice.h"
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
};

/// Null for kNone. UserError as the voice's constructor.
std::unique_ptr<const Voice> make_voice(const VoiceOptions& options);

}  // namespace predgen

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "voice/espeak/espeak_voice.h"
#include "voice/hibari/hibari_voice.h"
#include "voice/piper/piper_voice.h"
#include "voice/voice.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen {

enum class VoiceKind { kNone, kHibari, kPiper, kEspeak, kZonos };

/// Their names: "none", "hibari" ..
const std::vector<std::pair<std::string, VoiceKind>>& voice_kinds();

/// Which voice speaks, and the options of each.
struct VoiceOptions {
  VoiceKind kind = VoiceKind::kNone;
  HibariOptions hibari;
  PiperOptions piper;
  EspeakOptions espeak;
  ZonosOptions zonos;
};

/// The settings of each voice, by its name.
std::vector<std::pair<std::string, Settings>> settings_by_voice(VoiceOptions& options);

/// The default voice: the best installed one that runs on any machine. Hibari if its folder and
/// ONNX Runtime are installed, else espeak-ng if its helper is, else kNone.
VoiceKind default_voice_kind();

/// Null for kNone. UserError as the voice's constructor.
std::unique_ptr<const Voice> make_voice(const VoiceOptions& options);

}  // namespace predgen

#include "voice/make_voice.h"

#include "voice/espeak/espeak_voice.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen {

const std::vector<std::pair<std::string, VoiceKind>>& voice_kinds() {
  static const std::vector<std::pair<std::string, VoiceKind>> kinds{
      {"none", VoiceKind::kNone}, {"espeak", VoiceKind::kEspeak}, {"zonos", VoiceKind::kZonos}};
  return kinds;
}

std::unique_ptr<const Voice> make_voice(const VoiceOptions& options) {
  switch (options.kind) {
    case VoiceKind::kNone:
      return nullptr;
    case VoiceKind::kEspeak:
      return std::make_unique<EspeakVoice>(options.espeak);
    case VoiceKind::kZonos:
      return std::make_unique<ZonosVoice>(options.zonos);
  }
  return nullptr;
}

}  // namespace predgen

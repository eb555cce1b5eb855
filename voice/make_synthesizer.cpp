#include "voice/make_synthesizer.h"

#include "voice/zonos/zonos_synthesizer.h"

namespace predgen {

const std::vector<std::pair<std::string, VoiceKind>>& voice_kinds() {
  static const std::vector<std::pair<std::string, VoiceKind>> kinds{
      {"none", VoiceKind::kNone}, {"espeak", VoiceKind::kEspeak}, {"zonos", VoiceKind::kZonos}};
  return kinds;
}

AheadBuffer VoiceOptions::ahead_buffer() const {
  return kind == VoiceKind::kZonos ? zonos.ahead_buffer() : AheadBuffer{};
}

std::unique_ptr<SpeechSynthesizer> make_synthesizer(const VoiceOptions& options) {
  switch (options.kind) {
    case VoiceKind::kNone:
      return nullptr;
    case VoiceKind::kEspeak:
      return std::make_unique<EspeakSynthesizer>(options.espeak);
    case VoiceKind::kZonos:
      return std::make_unique<ZonosSynthesizer>(options.zonos);
  }
  return nullptr;
}

}  // namespace predgen

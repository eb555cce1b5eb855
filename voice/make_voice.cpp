#include "voice/make_voice.h"

#include <filesystem>

#include "hear/onnx/onnx_runtime.h"
#include "voice/espeak/espeak_helper.h"
#include "voice/espeak/espeak_voice.h"
#include "voice/hibari/hibari_voice.h"
#include "voice/piper/piper_voice.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen {

const std::vector<std::pair<std::string, VoiceKind>>& voice_kinds() {
  static const std::vector<std::pair<std::string, VoiceKind>> kinds{{"none", VoiceKind::kNone},
                                                                    {"hibari", VoiceKind::kHibari},
                                                                    {"piper", VoiceKind::kPiper},
                                                                    {"espeak", VoiceKind::kEspeak},
                                                                    {"zonos", VoiceKind::kZonos}};
  return kinds;
}

std::vector<std::pair<std::string, Settings>> settings_by_voice(VoiceOptions& options) {
  return {{"hibari", settings_of(options.hibari)},
          {"piper", settings_of(options.piper)},
          {"espeak", settings_of(options.espeak)},
          {"zonos", settings_of(options.zonos)}};
}

VoiceKind default_voice_kind() {
  if (!EspeakHelper::is_there()) return VoiceKind::kNone;  // Hibari's phonemes are espeak-ng's
  std::error_code absent;
  const bool has_hibari = std::filesystem::is_regular_file(hibari_folder() / "hibari.onnx", absent);
  return has_hibari && OnnxRuntime::is_there() ? VoiceKind::kHibari : VoiceKind::kEspeak;
}

std::unique_ptr<const Voice> make_voice(const VoiceOptions& options) {
  switch (options.kind) {
    case VoiceKind::kNone:
      return nullptr;
    case VoiceKind::kHibari:
      return std::make_unique<HibariVoice>(options.hibari);
    case VoiceKind::kPiper:
      return std::make_unique<PiperVoice>(options.piper);
    case VoiceKind::kEspeak:
      return std::make_unique<EspeakVoice>(options.espeak);
    case VoiceKind::kZonos:
      return std::make_unique<ZonosVoice>(options.zonos);
  }
  return nullptr;
}

}  // namespace predgen

#include "cli/voice_flags.h"

#include <vector>

#include "core/error.h"

namespace predgen {
namespace {

ZonosOptions read_zonos(const VoiceFlags& flags) {
  if (flags.model.empty() && flags.config.empty()) {
    throw UserError("--tts zonos needs --tts-model, the folder of Zyphra/Zonos-v0.1-transformer");
  }
  std::vector<std::string> overrides;
  const auto give = [&](const char* key, const std::string& value) {
    if (!value.empty()) overrides.push_back(fmt::format("{}={}", key, value));
  };
  give("model", flags.model);
  give("codec", flags.codec);
  give("voice", flags.voice);
  give("language", flags.language);
  ConfigReader reader = flags.config.empty()
                            ? ConfigReader::parse("{}", "the --tts options", overrides)
                            : ConfigReader::load(flags.config, overrides);
  const ZonosOptions options = read_zonos_options(reader);
  reader.finish();
  return options;
}

}  // namespace

void VoiceFlags::add_to(CLI::App& command) {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : voice_kinds()) kinds.push_back(name);
  command.add_option("--tts", tts, "Voice: espeak (any machine), zonos (a GPU) or none")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str();
  command.add_option(
      "--voice", voice,
      "espeak: a name that `espeak-ng --voices` lists, else en-us; zonos: a recording of "
      "the speaker or a speaker embedding");
  command.add_option("--tts-model", model, "zonos: the folder of Zyphra/Zonos-v0.1-transformer");
  command.add_option("--tts-codec", codec,
                     "zonos: the folder of descript/dac_44khz, else dac_44khz in the model's");
  command.add_option("--tts-language", language, "zonos: as espeak-ng names it, else en-us");
  command.add_option("--tts-config", config,
                     "zonos: YAML with everything else, as configs/runtime/zonos.yaml");
}

VoiceOptions VoiceFlags::parse() const {
  VoiceOptions options;
  for (const auto& [name, kind] : voice_kinds()) {
    if (name == tts) options.kind = kind;
  }
  if (options.kind == VoiceKind::kZonos) {
    options.zonos = read_zonos(*this);
  } else if (!model.empty() || !codec.empty() || !config.empty() || !language.empty()) {
    throw UserError("--tts-model, --tts-codec, --tts-language and --tts-config need --tts zonos");
  }
  if (options.kind == VoiceKind::kEspeak && !voice.empty()) options.espeak.voice = voice;
  return options;
}

}  // namespace predgen

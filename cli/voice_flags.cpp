#include "cli/voice_flags.h"

#include <utility>
#include <vector>

#include "core/error.h"

namespace predgen::cli {
namespace {

/// The options of the chosen voice, from --tts-config and from flags, which come first. `given`:
/// key and value, empty if the flag is not there.
template <typename Options>
Options read(const std::string& config,
             const std::vector<std::pair<std::string, std::string>>& given,
             Options (*read_options)(ConfigReader&)) {
  std::vector<std::string> overrides;
  for (const auto& [key, value] : given) {
    if (!value.empty()) overrides.push_back(fmt::format("{}={}", key, value));
  }
  ConfigReader reader = config.empty() ? ConfigReader::parse("{}", "the --tts options", overrides)
                                       : ConfigReader::load(config, overrides);
  const Options options = read_options(reader);
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
                     "YAML with everything else, as configs/runtime/zonos.yaml or espeak.yaml");
}

VoiceOptions VoiceFlags::parse() const {
  VoiceOptions options;
  for (const auto& [name, kind] : voice_kinds()) {
    if (name == tts) options.kind = kind;
  }
  if (options.kind == VoiceKind::kZonos) {
    if (model.empty() && config.empty()) {
      throw UserError("--tts zonos needs --tts-model, the folder of Zyphra/Zonos-v0.1-transformer");
    }
    options.zonos =
        read(config, {{"model", model}, {"codec", codec}, {"voice", voice}, {"language", language}},
             read_zonos_options);
    return options;
  }
  if (!model.empty() || !codec.empty() || !language.empty()) {
    throw UserError("--tts-model, --tts-codec and --tts-language need --tts zonos");
  }
  if (options.kind == VoiceKind::kEspeak) {
    options.espeak = read(config, {{"voice", voice}}, read_espeak_options);
  } else if (!config.empty() || !voice.empty()) {
    throw UserError("--tts-config and --voice need --tts espeak or --tts zonos");
  }
  return options;
}

}  // namespace predgen::cli

#include "cli/voice_flags.h"

#include <utility>
#include <vector>

#include "core/error.h"

namespace predgen::cli {
namespace {

/// The options of the chosen voice, from --tts-config and from flags, which come first. `given`:
/// key and value, empty if the flag is absent.
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

std::string best_voice() {
  const VoiceKind best = default_voice_kind();
  for (const auto& [name, kind] : voice_kinds()) {
    if (kind == best) return name;
  }
  return "none";
}

void VoiceFlags::add_to(CLI::App& command) {
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : voice_kinds()) kinds.push_back(name);
  command
      .add_option("--tts", tts,
                  "Voice: hibari (English, any machine), piper (a voice of your own choice, any "
                  "machine), espeak (any machine and language), zonos (a GPU) or none")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str();
  command.add_option(
      "--voice", voice,
      "piper: joe, or the folder of another voice (NAME.onnx, NAME.onnx.json); espeak: a name that "
      "`espeak-ng "
      "--voices` lists, else en-us; zonos: a recording of the speaker or a speaker embedding");
  command.add_option("--tts-model", model,
                     "zonos: the folder of Zyphra/Zonos-v0.1-transformer; hibari: its folder, else "
                     "the one that \"predgen models get hibari\" makes");
  command.add_option("--tts-codec", codec,
                     "zonos: the folder of descript/dac_44khz, else dac_44khz in the model's");
  command.add_option("--tts-language", language, "zonos: as espeak-ng names it, else en-us");
  command.add_option("--tts-config", config,
                     "YAML with everything else, as configs/runtime/hibari.yaml, piper.yaml, "
                     "espeak.yaml or zonos.yaml");
}

VoiceOptions VoiceFlags::parse() const {
  VoiceOptions options;
  for (const auto& [name, kind] : voice_kinds()) {
    if (name == tts) options.kind = kind;
  }
  refuse_what_it_lacks(options.kind);
  switch (options.kind) {
    case VoiceKind::kNone:
      break;
    case VoiceKind::kHibari:
      options.hibari = read(config, {{"model", model}}, read_hibari_options);
      break;
    case VoiceKind::kPiper:
      if (voice.empty() && config.empty()) {
        throw UserError(
            "--tts piper needs --voice: joe, or the folder of NAME.onnx and NAME.onnx.json");
      }
      options.piper = read(config, {{"voice", voice}}, read_piper_options);
      break;
    case VoiceKind::kEspeak:
      options.espeak = read(config, {{"voice", voice}}, read_espeak_options);
      break;
    case VoiceKind::kZonos:
      if (model.empty() && config.empty()) {
        throw UserError(
            "--tts zonos needs --tts-model, the folder of Zyphra/Zonos-v0.1-transformer");
      }
      options.zonos = read(
          config, {{"model", model}, {"codec", codec}, {"voice", voice}, {"language", language}},
          read_zonos_options);
      break;
  }
  return options;
}

void VoiceFlags::refuse_what_it_lacks(VoiceKind kind) const {
  const bool is_zonos = kind == VoiceKind::kZonos, is_hibari = kind == VoiceKind::kHibari;
  if (!is_zonos && (!codec.empty() || !language.empty())) {
    throw UserError("--tts-codec and --tts-language need --tts zonos");
  }
  if (!is_zonos && !is_hibari && !model.empty()) {
    throw UserError("--tts-model needs --tts zonos or --tts hibari");
  }
  if (is_hibari && !voice.empty()) {
    throw UserError("--tts hibari has one voice: leave --voice out, or use --tts piper with it");
  }
  if (kind == VoiceKind::kNone && !voice.empty()) {
    throw UserError("--voice needs --tts piper, --tts espeak or --tts zonos");
  }
  if (kind == VoiceKind::kNone && !config.empty()) {
    throw UserError("--tts-config needs --tts hibari, --tts piper, --tts espeak or --tts zonos");
  }
}

}  // namespace predgen::cli

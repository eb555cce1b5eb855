#include "cli/voice_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/setting_flags.h"
#include "core/error.h"

namespace predgen::cli {
namespace {

/// A flag, and the setting of voices that it is.
struct VoiceFlag {
  const char* name;
  const char* setting;
  std::string VoiceFlags::*value;
};
constexpr VoiceFlag kVoiceFlags[] = {{"voice", "voice", &VoiceFlags::voice},
                                     {"tts_model", "model", &VoiceFlags::model},
                                     {"tts_codec", "codec", &VoiceFlags::codec},
                                     {"tts_language", "language", &VoiceFlags::language}};

const Setting* find_setting(const Settings& settings, const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? nullptr : &*found;
}

std::string needs(const std::string& flag, const std::vector<std::string>& voices) {
  return fmt::format("{} needs --tts {}", flag, fmt::join(voices, " or --tts "));
}

/// UserError for flags that the chosen voice has not, or that it needs.
void check_flags(const VoiceFlags& flags,
                 const std::vector<std::pair<std::string, Settings>>& voices) {
  for (const VoiceFlag& flag : kVoiceFlags) {
    const bool is_given = !(flags.*flag.value).empty();
    const std::string name = Setting(flag.name, Settings()).flag_names();
    std::vector<std::string> having;
    for (const auto& [voice, settings] : voices) {
      const Setting* setting = find_setting(settings, flag.setting);
      if (setting == nullptr) continue;
      having.push_back(voice);
      if (voice == flags.tts && setting->is_needed && !is_given && flags.config.empty()) {
        throw UserError("--tts {} needs {}: {}", voice, name, setting->help);
      }
    }
    const bool has_it = std::ranges::count(having, flags.tts) > 0;
    if (is_given && !has_it) throw UserError("{}", needs(name, having));
  }
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
  Settings flags{{"tts", tts, kinds,
                  "Voice: hibari (English, any machine), piper (a voice of your own choice, any "
                  "machine), espeak (any machine and language), zonos (a GPU) or none"}};
  VoiceOptions options;
  const auto voices = settings_by_voice(options);
  for (const VoiceFlag& flag : kVoiceFlags) {
    std::string help;
    for (const auto& [name, settings] : voices) {
      const Setting* setting = find_setting(settings, flag.setting);
      if (setting) help += fmt::format("{}{}: {}", help.empty() ? "" : "\n", name, setting->help);
    }
    flags.emplace_back(flag.name, this->*flag.value, help);
  }
  flags.emplace_back("tts_config", config,
                     "YAML with all settings of the voice, as configs/runtime/hibari.yaml, "
                     "piper.yaml, espeak.yaml or zonos.yaml");
  add_flags(command, flags);
}

VoiceOptions VoiceFlags::parse() const {
  VoiceOptions options;
  for (const auto& [name, kind] : voice_kinds()) {
    if (name == tts) options.kind = kind;
  }
  const auto voices = settings_by_voice(options);
  check_flags(*this, voices);
  if (tts == "none" && !config.empty()) {
    throw UserError("{}", needs("--tts-config", {"hibari", "piper", "espeak", "zonos"}));
  }
  std::vector<std::string> overrides;  // flags come before the file
  for (const VoiceFlag& flag : kVoiceFlags) {
    const std::string& value = this->*flag.value;
    if (!value.empty()) overrides.push_back(fmt::format("{}={}", flag.setting, value));
  }
  for (const auto& [name, settings] : voices) {
    if (name != tts) continue;
    ConfigReader reader = config.empty() ? ConfigReader::parse("{}", "the --tts options", overrides)
                                         : ConfigReader::load(config, overrides);
    read_settings(reader, settings);
    reader.finish();
  }
  return options;
}

}  // namespace predgen::cli

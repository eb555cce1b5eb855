// SPDX-License-Identifier: GPL-3.0-or-later
#include "voices.h"

#include <espeak-ng/speak_lib.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

namespace {

/// By language.
std::map<std::string, std::string> list_voices() {
  std::map<std::string, std::string> voices;
  for (const espeak_VOICE** voice = espeak_ListVoices(nullptr); *voice != nullptr; ++voice) {
    const char* const languages = (*voice)->languages;  // a byte of priority, the code, NUL, ..
    if (languages == nullptr || languages[0] == '\0') continue;
    voices.emplace(languages + 1, (*voice)->identifier);
  }
  return voices;
}

const std::map<std::string, std::string>& voices() {
  static const auto voices = list_voices();
  return voices;
}

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// What a voice may be called, in lower case, and the variants that may follow a "+".
struct Names {
  std::set<std::string> voices, variants;
};

Names list_names() {
  constexpr const char* kVariants = "!v/";
  Names names;
  espeak_VOICE all{};
  all.languages = "all";
  for (const espeak_VOICE** voice = espeak_ListVoices(&all); *voice != nullptr; ++voice) {
    const std::string file = (*voice)->identifier;  // below espeak's own folders
    if (file.starts_with(kVariants)) {
      names.variants.insert(file.substr(std::string(kVariants).size()));
      continue;
    }
    names.voices.insert(in_lower_case((*voice)->name));
    names.voices.insert(in_lower_case(file));
    names.voices.insert(in_lower_case(file.substr(file.rfind('/') + 1)));
  }
  return names;
}

/// espeak_SetVoiceByName takes the path of any file, too, and a variant alone ends it.
bool is_listed(const std::string& name) {
  static const Names names = list_names();
  const size_t plus = name.find('+');
  if (!names.voices.contains(in_lower_case(name.substr(0, plus)))) return false;
  if (plus == std::string::npos) return true;
  const std::string variant = name.substr(plus + 1);
  const bool is_number =
      !variant.empty() && variant.size() <= 2 &&
      std::ranges::all_of(variant, [](unsigned char c) { return std::isdigit(c); });
  return is_number || names.variants.contains(variant);
}

}  // namespace

bool set_voice(const std::string& name, bool again) {
  static std::optional<std::string> current;
  if (name == current && !again) return true;
  const bool known = is_listed(name) && espeak_SetVoiceByName(name.c_str()) == EE_OK;
  current = known ? std::optional(name) : std::nullopt;
  return known;
}

std::vector<std::string> listed_languages() {
  std::vector<std::string> languages;
  for (const auto& [language, voice] : voices()) languages.push_back(language);
  return languages;
}

std::string voice_of_language(const std::string& code) {
  const auto found = voices().find(code);
  return found == voices().end() ? std::string() : found->second;
}

// SPDX-License-Identifier: GPL-3.0-or-later
#include "voices.h"

#include <espeak-ng/speak_lib.h>

#include <map>

namespace {

std::map<std::string, std::string> list_voices() {
  std::map<std::string, std::string> voices;
  for (const espeak_VOICE** voice = espeak_ListVoices(nullptr); *voice != nullptr; ++voice) {
    const char* const languages = (*voice)->languages;  // a byte of priority, the code, NUL, ..
    if (languages == nullptr || languages[0] == '\0') continue;
    voices.emplace(languages + 1, (*voice)->identifier);
  }
  return voices;
}

}  // namespace

bool set_voice(const std::string& name, bool again) {
  static std::string current;
  if (name == current && !again) return true;
  const bool known = espeak_SetVoiceByName(name.c_str()) == EE_OK;
  current = known ? name : "";
  return known;
}

std::string voice_of_language(const std::string& code) {
  static const auto voices = list_voices();
  const auto found = voices.find(code);
  return found == voices.end() ? std::string() : found->second;
}

// predgen-espeak: text in, audio or phonemes out, by espeak-ng. README.md has the protocol.
// SPDX-License-Identifier: GPL-3.0-or-later
#include <espeak-ng/speak_lib.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Json = nlohmann::json;

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

/// Makes `name` (what espeak_SetVoiceByName takes) the voice; does nothing if it already is, unless
/// `again`. False: unknown or empty.
bool set_voice(const std::string& name, bool again = false) {
  static std::optional<std::string> current;
  if (name == current && !again) return true;
  const bool known = is_listed(name) && espeak_SetVoiceByName(name.c_str()) == EE_OK;
  current = known ? std::optional(name) : std::nullopt;
  return known;
}

/// The languages of the voices in espeak's list, each one once, in order.
std::vector<std::string> listed_languages() {
  std::vector<std::string> languages;
  for (const auto& [language, voice] : voices()) languages.push_back(language);
  return languages;
}

/// The first voice of espeak's list whose first language is `code`; empty if there is none. Using
/// codes as names would fail for en-gb and fr-fr.
std::string voice_of_language(const std::string& code) {
  const auto found = voices().find(code);
  return found == voices().end() ? std::string() : found->second;
}

/// Writes a whole frame. Ends the program if that fails: the client is gone, and so is our purpose.
void write_frame(char type, std::string_view payload) {
  const auto length = static_cast<uint32_t>(payload.size());
  std::string frame(1, type);
  for (int shift = 0; shift < 32; shift += 8) frame.push_back(static_cast<char>(length >> shift));
  frame.append(payload);
  for (size_t written = 0; written < frame.size();) {
    const ssize_t n = write(STDOUT_FILENO, frame.data() + written, frame.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) std::exit(1);
    written += static_cast<size_t>(n);
  }
}

/// `text` with blanks in words that espeak-ng 1.51 has no room for: of more than 100 bytes, and of
/// more than 12 dotted letters ("a.b.c."), which it collects in 80 bytes without a bounds check.
std::string in_short_words(const std::string& text) {
  constexpr size_t kMostBytes = 100, kMostDots = 12;
  std::string broken;
  size_t num_bytes = 0;     // of the word so far
  size_t num_dots = 0;      // after letters, since the last plain word
  size_t num_letters = 0;   // in a row, of ASCII: others may be blanks for espeak
  bool has_letter = false;  // since the last dot
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool begins = (byte & 0xC0) != 0x80;  // a character of UTF-8
    const bool is_letter = std::isalnum(byte) != 0;
    num_letters = is_letter ? num_letters + 1 : 0;
    if (num_letters > 1) num_dots = 0;
    has_letter |= is_letter || byte >= 0x80;
    const bool is_dot = c == '.' && has_letter;
    if (is_dot) has_letter = false;
    const bool is_one_too_many = is_dot && ++num_dots > kMostDots;
    if (is_one_too_many) num_dots = 0;
    if (std::isspace(byte) != 0 || is_one_too_many) {
      num_bytes = 0;
    } else if (begins && num_bytes >= kMostBytes) {
      broken += ' ';
      num_bytes = 0;
    }
    ++num_bytes;
    broken += is_one_too_many ? ' ' : c;
  }
  return broken;
}

int on_samples(short* samples, int num_samples, espeak_EVENT*) {
  if (samples != nullptr && num_samples > 0) {  // int16 of this machine: little-endian
    write_frame('A',
                {reinterpret_cast<const char*>(samples), 2 * static_cast<size_t>(num_samples)});
  }
  return 0;
}

/// Quotes a name that may be anything.
std::string quoted(const std::string& name) {
  std::string begin = name.substr(0, 64);
  while (begin.size() < name.size() && (name[begin.size()] & 0xC0) == 0x80) begin.pop_back();
  return begin;
}

/// Sets a name that the library takes, or one on its list: a language, or a name with _ for blanks.
bool set_listed_voice(const std::string& name) {
  std::string with_blanks = name;
  std::ranges::replace(with_blanks, '_', ' ');
  return set_voice(name) || set_voice(with_blanks) || set_voice(voice_of_language(name));
}

void speak(const Json& request) {
  const auto voice = request.at("voice").get<std::string>();
  const std::string text = in_short_words(request.at("text").get<std::string>());
  const int rate = request.at("rate").get<int>(), pitch = request.at("pitch").get<int>();
  if (!set_listed_voice(voice))
    return write_frame('V', "espeak-ng has no voice '" + quoted(voice) + "'");
  espeak_SetParameter(espeakRATE, rate, 0);
  espeak_SetParameter(espeakPITCH, pitch, 0);
  if (!text.empty()) {
    const auto result = espeak_Synth(text.c_str(), text.size() + 1, 0, POS_CHARACTER, 0,
                                     espeakCHARS_UTF8 | espeakENDPAUSE, nullptr, nullptr);
    if (result != EE_OK) return write_frame('E', "espeak_Synth failed: " + std::to_string(result));
  }
  write_frame('D', {});
}

void list(const Json& request) {
  if (request.at("list") != "voices") throw std::invalid_argument("there are lists of voices only");
  write_frame('N', Json(listed_languages()).dump());
  write_frame('D', {});
}

/// The library takes one clause at a time.
std::string phonemes_of(const std::string& word) {
  constexpr int kIpa = 0x02, kSeparator = '_' << 8;
  std::string phonemes;
  const void* rest = word.c_str();
  for (size_t clauses = 0; rest != nullptr; ++clauses) {
    if (clauses > word.size()) throw std::runtime_error("espeak-ng does not get to a word's end");
    const char* const clause = espeak_TextToPhonemes(&rest, espeakCHARS_UTF8, kSeparator | kIpa);
    if (clause == nullptr || *clause == '\0') continue;
    if (!phonemes.empty()) phonemes += ' ';
    phonemes += clause;
  }
  return phonemes;
}

void pronounce(const Json& request) {
  const auto language = request.at("language").get<std::string>();
  const auto words = request.at("words").get<std::vector<std::string>>();
  std::string voice = voice_of_language(language);
  if (voice.empty()) voice = language;  // a code that is no voice's first one: fr
  if (!set_voice(voice)) {
    return write_frame('V', "espeak-ng has no voice of the language '" + quoted(language) + "'");
  }
  Json phonemes = Json::array();
  for (const std::string& word : words) {
    phonemes.push_back(phonemes_of(in_short_words(word)));
    // A letter unknown to the library can leave it in another language.
    if (phonemes.back().get_ref<const std::string&>().empty()) set_voice(voice, /*again=*/true);
  }
  write_frame('P', phonemes.dump(-1, ' ', false, Json::error_handler_t::replace));
  write_frame('D', {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--version") {
    std::cout << espeak_Info(nullptr) << "\n";
    return 0;
  }
  static_assert(std::endian::native == std::endian::little);
  const int rate =
      espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, nullptr, espeakINITIALIZE_DONT_EXIT);
  if (rate <= 0) {
    write_frame('E', "espeak-ng finds no voice data: install espeak-ng-data");
    return 1;
  }
  espeak_SetSynthCallback(on_samples);
  const auto sample_rate = static_cast<uint32_t>(rate);
  write_frame('R', {reinterpret_cast<const char*>(&sample_rate), sizeof sample_rate});
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const Json request = Json::parse(line);
      if (request.contains("words")) {
        pronounce(request);
      } else if (request.contains("list")) {
        list(request);
      } else {
        speak(request);
      }
    } catch (const std::exception& error) {
      write_frame('E', error.what());
    }
  }
  espeak_Terminate();
  return 0;
}

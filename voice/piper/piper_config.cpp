#include "voice/piper/piper_config.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/json.h"
#include "text/tokenize/text_normalizer.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr char32_t kBegin = U'^', kEnd = U'$', kPause = U'_';

std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  for (size_t at = 0; at < text.size();) characters += next_character(text, at);
  return characters;
}

/// None for an empty key, or one of several characters, which is not an espeak-ng phoneme.
std::optional<char32_t> single(const std::string& key) {
  const std::u32string characters = characters_of(key);
  return characters.size() == 1 ? std::optional(characters.front()) : std::nullopt;
}

const Json& section(const Json& config, const char* key) {
  static const Json kNone = Json::object();
  return config.contains(key) && config.at(key).is_object() ? config.at(key) : kNone;
}

void check_kind(const Json& config, const std::string& where) {
  if (!config.is_object()) throw UserError("{}: is not what Piper writes of a voice", where);
  const auto kind = config.value("phoneme_type", std::string("espeak"));
  if (kind != "espeak") {
    throw UserError(
        "{}: the voice speaks phonemes of the type '{}', and here only those of espeak-ng are "
        "made: use a Piper voice whose phoneme_type is espeak",
        where, kind);
  }
  if (section(config, "phoneme_id_map").empty()) {
    throw UserError("{}: has no phoneme_id_map: use the .onnx.json that comes with the voice",
                    where);
  }
}

std::map<char32_t, std::vector<int64_t>> read_ids(const Json& config, const std::string& where) {
  std::map<char32_t, std::vector<int64_t>> ids;
  for (const auto& [key, value] : section(config, "phoneme_id_map").items()) {
    if (const auto character = single(key)) {
      ids.emplace(*character, value.get<std::vector<int64_t>>());
    }
  }
  for (const auto& [character, name] : {std::pair(kBegin, "^"), {kEnd, "$"}, {kPause, "_"}}) {
    if (!ids.contains(character)) throw UserError("{}: phoneme_id_map lacks '{}'", where, name);
  }
  return ids;
}

std::map<char32_t, std::u32string> read_replaced(const Json& config) {
  std::map<char32_t, std::u32string> replaced;
  for (const auto& [key, value] : section(config, "phoneme_map").items()) {
    const auto character = single(key);
    if (!character) continue;
    std::u32string& others = replaced[*character];
    for (const auto& other : value.get<std::vector<std::string>>()) others += characters_of(other);
  }
  return replaced;
}

std::vector<std::pair<std::string, int64_t>> read_speakers(const Json& config) {
  std::vector<std::pair<std::string, int64_t>> speakers;
  const auto count = config.value("num_speakers", int64_t{1});
  if (count < 2) return speakers;
  for (const auto& [name, id] : section(config, "speaker_id_map").items()) {
    speakers.emplace_back(name, id.get<int64_t>());
  }
  if (speakers.empty()) {
    for (int64_t id = 0; id < count; ++id) speakers.emplace_back(fmt::format("speaker{}", id), id);
  }
  std::ranges::sort(speakers, {}, &std::pair<std::string, int64_t>::second);
  return speakers;
}

/// Replaces marks that not every voice knows by near equivalents.
char32_t plain_mark(char32_t character) {
  if (character == U'\u2014') return U',';
  return character == U'\u2026' ? U'.' : character;
}

}  // namespace

PiperConfig PiperConfig::load(const std::filesystem::path& file) {
  const std::string where = file.string();
  const Json json = read_json(file);
  return checked_json(where, [&] {
    check_kind(json, where);
    PiperConfig config;
    config.sample_rate = json_get<int64_t>(section(json, "audio"), "sample_rate", where);
    check_at_least(1, config.sample_rate, "a voice's sample_rate");
    config.language = json_get<std::string>(section(json, "espeak"), "voice", where);
    const Json& inference = section(json, "inference");
    config.noise_scale = inference.value("noise_scale", config.noise_scale);
    config.length_scale = inference.value("length_scale", config.length_scale);
    config.noise_w = inference.value("noise_w", config.noise_w);
    config.speakers = read_speakers(json);
    config.ids = read_ids(json, where);
    config.replaced = read_replaced(json);
    return config;
  });
}

std::vector<int64_t> PiperConfig::phoneme_ids(std::string_view phonemes) const {
  static const TextNormalizer kDecomposes(Json{{"type", "NFD"}}, "NFD");
  std::u32string characters;
  for (const char32_t character : characters_of(kDecomposes.normalize(phonemes))) {
    if (character == kPause) continue;  // separates phonemes
    const auto others = replaced.find(character);
    characters += others == replaced.end() ? std::u32string(1, character) : others->second;
  }
  std::vector<int64_t> all;
  bool has_sound = false;
  const auto append = [&](char32_t character) {
    const auto found = ids.find(character);
    if (found != ids.end()) all.insert(all.end(), found->second.begin(), found->second.end());
    return found != ids.end();
  };
  append(kBegin);
  append(kPause);
  for (const char32_t character : characters) {
    if (!append(character) && !append(plain_mark(character))) continue;
    append(kPause);
    has_sound = true;
  }
  append(kEnd);
  return has_sound ? all : std::vector<int64_t>();
}

}  // namespace predgen

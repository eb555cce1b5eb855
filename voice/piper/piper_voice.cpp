#include "voice/piper/piper_voice.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/model_names.h"
#include "core/text.h"
#include "hear/onnx/onnx_runtime.h"
#include "hear/onnx/onnx_session.h"
#include "text/tokenize/text_normalizer.h"
#include "text/utf8.h"
#include "voice/clauses/clause_synthesizer.h"

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

namespace {

class PiperPiece : public Synthesis {
 public:
  PiperPiece(const PiperModel& model, std::vector<int64_t> ids, int64_t speaker, double speed)
      : model_(model), ids_(std::move(ids)), speaker_(speaker), speed_(speed) {}

  bool advance(std::vector<float>& samples) override {
    if (ids_.empty()) return false;
    const OnnxOutput sound = model_.run(std::exchange(ids_, {}), speaker_, speed_);
    for (const float sample : sound.values) samples.push_back(std::clamp(sample, -1.0F, 1.0F));
    return false;
  }

 private:
  const PiperModel& model_;
  std::vector<int64_t> ids_;  // empty: already spoken
  int64_t speaker_;
  double speed_;
};

bool takes_speaker(const OnnxGraph& graph) {
  return std::ranges::find(graph.inputs(), "sid") != graph.inputs().end();
}

}  // namespace

PiperModel::PiperModel(std::unique_ptr<const OnnxGraph> graph, PiperConfig config,
                       const PiperSettings& settings)
    : graph_(std::move(graph)), config_(std::move(config)), settings_(settings) {
  check_graph(*graph_, {"input", "input_lengths", "scales"}, {"output"}, "a Piper voice");
  if (!config_.speakers.empty()) {
    check_graph(*graph_, {"sid"}, {}, "a Piper voice with several speakers, as its .json says");
  }
}

OnnxOutput PiperModel::run(const std::vector<int64_t>& ids, int64_t speaker, double speed) const {
  const auto chosen = [](double set, double own) {
    return static_cast<float>(set < 0 ? own : set);
  };
  const std::array<float, 3> scales{
      chosen(settings_.noise_scale, config_.noise_scale),
      static_cast<float>(config_.length_scale / (settings_.speed * speed)),
      chosen(settings_.noise_w, config_.noise_w)};
  const std::array<int64_t, 1> length{std::ssize(ids)};
  std::vector<OnnxInput> inputs{{.name = "input", .shape = {1, length[0]}, .integers = ids},
                                {.name = "input_lengths", .shape = {1}, .integers = length},
                                {.name = "scales", .shape = {3}, .floats = scales}};
  if (takes_speaker(*graph_)) {
    inputs.push_back({.name = "sid", .shape = {1}, .integers = {&speaker, 1}});
  }
  return graph_->run(inputs, {"output"}, {}).front();
}

std::unique_ptr<Synthesis> PiperNetwork::speak(const std::string& phonemes) const {
  std::vector<int64_t> ids = model_->config().phoneme_ids(phonemes);
  if (ids.empty()) return nullptr;
  return std::make_unique<PiperPiece>(*model_, std::move(ids), speaker_, speed_);
}

namespace fs = std::filesystem;

namespace {

/// `asked` itself, or the voice of that name in the models folder.
fs::path find_voice(const fs::path& asked) {
  std::error_code absent;
  if (fs::exists(asked, absent)) return asked;
  const bool is_name = !asked.empty() && asked == asked.filename();
  if (is_name && fs::is_directory(models_folder() / asked, absent)) return models_folder() / asked;
  throw UserError(
      "{}: no such folder; a Piper voice is a folder with NAME.onnx and NAME.onnx.json, such as "
      "'joe', which {} fetches",
      shortened(asked.string()), fetch_command("joe"));
}

}  // namespace

fs::path PiperOptions::file() const {
  fs::path place = find_voice(voice);
  std::error_code absent;
  if (!fs::is_directory(place, absent)) return place;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(place)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) {
    throw UserError("{}: has no .onnx file; a Piper voice is NAME.onnx and NAME.onnx.json",
                    place.string());
  }
  if (files.size() > 1) {
    throw UserError("{}: has {} voices, such as {} and {}: name one file", place.string(),
                    files.size(), files[0].filename().string(), files[1].filename().string());
  }
  return files.front();
}

Settings settings_of(PiperOptions& options) {
  return {Setting("voice", options.voice,
                  "a name in the models' folder, a folder of NAME.onnx and NAME.onnx.json, or such "
                  "a file; `predgen models get joe` makes joe")
              .needed(),
          {"speaker", options.speaker, "of a voice with several; empty: the first"},
          {"speed", options.settings.speed, between(kSlowestPiper, kFastestPiper), "of speech"},
          {"noise_scale", options.settings.noise_scale, between(-1, 2),
           "randomness of the sound; -1: the voice's own"},
          {"noise_w", options.settings.noise_w, between(-1, 2),
           "the same for phoneme lengths; both 0: a text always sounds the same"}};
}

namespace {

std::shared_ptr<const PiperModel> load(const PiperOptions& options) {
  OnnxRuntime::open();  // a build without it fails before files are looked for
  const std::filesystem::path file = options.file();
  PiperConfig config = PiperConfig::load(file.string() + ".json");
  return std::make_shared<const PiperModel>(std::make_unique<const OnnxSession>(file),
                                            std::move(config), options.settings);
}

std::vector<std::string> speaker_names(const PiperConfig& config, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [speaker, id] : config.speakers) names.push_back(speaker);
  if (names.empty()) names.push_back(name);
  return names;
}

}  // namespace

PiperVoice::PiperVoice(const PiperOptions& options)
    : PiperVoice(load(options), options.file().stem().string(), options) {}

PiperVoice::PiperVoice(std::shared_ptr<const PiperModel> model, const std::string& name,
                       const PiperOptions& options)
    : options_(options), model_(std::move(model)), names_(speaker_names(model_->config(), name)) {
  if (!options_.speaker.empty()) {
    const auto chosen = std::ranges::find(names_, options_.speaker);
    if (chosen == names_.end()) throw unknown_voice(options_.speaker, names_);
    std::rotate(names_.begin(), chosen, chosen + 1);
  }
  // A digit: every language has a word for it.
  try_out(*synthesizer(), "1", "fetch the Piper voice " + name + " again");
}

int64_t PiperVoice::speaker_id(const std::string& name) const {
  for (const auto& [speaker, id] : model_->config().speakers) {
    if (speaker == name) return id;
  }
  return 0;
}

SpeedRange PiperVoice::speeds() const {
  const double configured = options_.settings.speed;
  return {kSlowestPiper / configured, kFastestPiper / configured};
}

std::unique_ptr<SpeechSynthesizer> PiperVoice::synthesizer(const std::string& name,
                                                           double speed) const {
  const std::string& wanted = name.empty() ? names_.front() : name;
  if (std::ranges::find(names_, wanted) == names_.end()) throw unknown_voice(wanted, names_);
  return std::make_unique<ClauseSynthesizer>(
      std::make_shared<const PiperNetwork>(model_, speaker_id(wanted), speed),
      ClauseOptions{.user = "the Piper voice",
                    .language = language(),
                    .espeak_helper = options_.espeak_helper});
}

}  // namespace predgen

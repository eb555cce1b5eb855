#include "core/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "core/edit_distance.h"
#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/text.h"

namespace predgen {

std::string SplitName::part(int64_t other) const {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, other, count);
}

std::optional<SplitName> parse_split_name(const std::string& name) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";  // 0: a digit
  if (name.size() <= kPattern.size()) return std::nullopt;
  const size_t prefix = name.size() - kPattern.size();
  for (size_t i = 0; i < kPattern.size(); ++i) {
    const char c = name[prefix + i];
    if (kPattern[i] == '0' ? c < '0' || c > '9' : c != kPattern[i]) return std::nullopt;
  }
  return SplitName{name.substr(0, prefix), std::stoll(name.substr(prefix + 1, 5)),
                   std::stoll(name.substr(prefix + 10, 5))};
}

namespace fs = std::filesystem;

namespace {

constexpr KnownModel kKnown[] = {
    {"smollm2", "language model", "SmolLM2 135M Instruct, Q4_1", 98362432, "Apache-2.0"},
    {"qwen-coder-0.5b", "language model", "Qwen2.5-Coder 0.5B Instruct, Q4_K_M", 491400064,
     "Apache-2.0"},
    {"qwen-coder-1.5b", "language model", "Qwen2.5-Coder 1.5B Instruct, Q4_K_M", 1117320768,
     "Apache-2.0"},
    {"whisper-base", "recogniser", "Whisper base, 99 languages, 8 bits", 109496533, "MIT"},
    {"whisper-tiny.en", "recogniser", "Whisper tiny, English, 8 bits", 43206392, "MIT"},
    {"moonshine-tiny", "recogniser", "Moonshine tiny, English", 43944900, "MIT"},
    {"silero", "voice activity", "Silero VAD 6.2", 2328599, "MIT"},
    {"smart-turn", "end of turn", "Smart Turn 3.2, 8 bits", 8680483, "BSD-2-Clause"},
    {"hibari", "voice", "Hibari, English, one voice, 24 kHz", 7951799, "Apache-2.0"},
    {"joe", "voice", "Joe, English, a Piper voice, 22 kHz", 63206368, "CC0-1.0"}};

constexpr std::string_view kGguf = ".gguf";

bool is_gguf(const fs::path& path) { return path.extension() == kGguf; }

/// Whether this is a part of a split model other than the first.
bool is_later_part(const fs::path& path) {
  const auto name = parse_split_name(path.filename().string());
  return name && name->number != 1;
}

/// UserError for a path that cannot be checked: a name too long, another user's folder.
bool is_there(const fs::path& path) {
  std::error_code unusable;
  const bool there = fs::exists(path, unusable);
  if (unusable) throw UserError("{}: {}", shortened(path.string()), unusable.message());
  return there;
}

/// Whether it is one word, not a path.
bool is_name(const fs::path& asked) { return !asked.empty() && asked == asked.filename(); }

/// A suggestion that fits into a one-line message.
std::string suggest_briefly(const std::string& wrong, const std::vector<std::string>& valid) {
  return shortened(suggest(wrong, valid), 300);
}

[[noreturn]] void fail_kind(const std::string& asked) {
  throw UserError("{}: is no language model, it hears or speaks; \"predgen models\" lists both",
                  asked);
}

[[noreturn]] void fail_name(const std::string& name, const fs::path& folder) {
  std::vector<std::string> names;
  for (const KnownModel& known : kKnown) {
    if (!known.is_language_model()) {
      if (name == known.name) fail_kind(name);
      continue;
    }
    if (name == known.name || name == std::string(known.name).append(kGguf)) {
      throw UserError("{}: no such model here; {} fetches it", name, known.command());
    }
    names.emplace_back(known.name);
  }
  for (const NamedModel& model : models_in(folder)) {
    if (std::ranges::find(names, model.name) == names.end()) names.push_back(model.name);
  }
  throw UserError("{}: no such model folder or GGUF file here, and no model of this name in {}; {}",
                  name, folder.empty() ? "a folder of models (PREDGEN_MODELS)" : folder.string(),
                  suggest_briefly(name, names));
}

[[noreturn]] void fail_gguf(const fs::path& file) {
  std::vector<std::string> names;  // of the models that it may mean
  std::error_code unusable;
  for (const auto& entry : fs::directory_iterator(file.parent_path(), unusable)) {
    if (is_gguf(entry.path())) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  throw UserError("{}: no such GGUF file{}", file.string(),
                  names.empty() ? "" : "; " + suggest_briefly(file.filename().string(), names));
}

/// "org/name" of huggingface.co, which users copy from its pages; empty if it looks like a path.
std::string hub_name(const fs::path& asked) {
  constexpr std::string_view kSite = "https://huggingface.co/";
  std::string name = asked.string();
  const bool is_link = name.starts_with(kSite);
  if (is_link) name.erase(0, kSite.size());
  if (name.ends_with('/')) name.pop_back();
  const auto is_of_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  const size_t slash = name.find('/');
  std::error_code unusable;
  const bool is_hub_name = slash != std::string::npos && slash > 0 && slash + 1 < name.size() &&
                           name.find('/', slash + 1) == std::string::npos && name[0] != '.' &&
                           std::ranges::all_of(name, is_of_name) &&
                           (is_link || !fs::exists(name.substr(0, slash), unusable));
  return is_hub_name ? name : "";
}

[[noreturn]] void fail_missing(const fs::path& asked, const fs::path& folder) {
  if (is_name(asked)) fail_name(asked.string(), folder);
  if (is_gguf(asked)) fail_gguf(asked);
  if (const std::string name = hub_name(asked); !name.empty()) {
    const std::string last = name.substr(name.find('/') + 1);
    throw UserError(
        "{}: no such model folder or GGUF file, and nothing is downloaded by itself; if it is a "
        "name of huggingface.co: hf download {} --local-dir {}",
        asked.string(), name, (folder / last).string());
  }
  throw UserError("{}: no such model folder or GGUF file", asked.string());
}

}  // namespace

std::string fetch_command(const std::string& name) { return "predgen models get " + name; }

std::string KnownModel::command() const { return fetch_command(std::string(name)); }

std::span<const KnownModel> known_models() { return kKnown; }

fs::path models_folder() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return fs::path(text == nullptr ? "" : text);
  };
  if (fs::path folder = value("PREDGEN_MODELS"); !folder.empty()) return folder;
  if (const fs::path cache = value("XDG_CACHE_HOME"); !cache.empty()) {
    return cache / "predgen" / "models";
  }
  const fs::path home = value("HOME");
  return home.empty() ? home : home / ".cache" / "predgen" / "models";
}

std::vector<NamedModel> models_in(const fs::path& folder) {
  std::vector<NamedModel> models;
  std::error_code absent;
  if (!fs::is_directory(folder, absent)) return models;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    const std::string file = path.filename().string();
    if (file.starts_with('.')) continue;  // a download under way, or hidden
    if (is_speech_model(path)) continue;
    if (entry.is_directory(absent)) {
      models.push_back({file, path});
    } else if (const fs::path stem = path.stem(); is_gguf(path) && !is_later_part(path)) {
      // A folder comes before a file of its name.
      models.push_back({fs::exists(folder / stem, absent) ? file : stem.string(), path});
    }
  }
  std::ranges::sort(models, {}, &NamedModel::name);
  return models;
}

std::vector<NamedModel> begun_models_in(const fs::path& folder) {
  std::vector<NamedModel> models;
  std::error_code absent;
  for (const KnownModel& known : kKnown) {
    const std::string name(known.name);
    const fs::path path = folder / (".joined-" + name + std::string(kGguf));
    if (fs::exists(path, absent)) models.push_back({name, path});
  }
  return models;
}

fs::path find_model(const fs::path& asked, const fs::path& folder) {
  const auto checked = [&](const fs::path& path) {
    if (is_speech_model(path)) fail_kind(asked.string());
    return path;
  };
  if (is_there(asked)) return checked(asked);
  if (is_name(asked) && !folder.empty()) {
    for (const fs::path& path : {folder / asked, folder / (asked.string() + std::string(kGguf))}) {
      if (is_there(path)) return checked(path);
    }
  }
  fail_missing(asked, folder);
}

namespace {

constexpr const char* kManifest = "speech_model.json";

SpeechModel::File read_entry(const std::string& name, const Json& entry, const std::string& where) {
  if (name.empty() || name != fs::path(name).filename()) {
    throw UserError("{}: \"{}\" is no name of a file", where, shortened(name));
  }
  return {name, json_get<int64_t>(entry, "bytes", where),
          json_get<std::string>(entry, "sha256", where)};
}

SpeechModel read_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifest;
  const std::string where = file.string();
  const Json json = read_json(file);
  SpeechModel model{folder,
                    json_get<std::string>(json, "kind", where),
                    json_get<std::string>(json, "title", where),
                    json_get<std::string>(json, "licence", where),
                    {}};
  const Json files = json_get<Json>(json, "files", where);
  for (const auto& [name, entry] : files.items()) {
    model.files.push_back(read_entry(name, entry, where));
  }
  return model;
}

/// The command that makes a folder complete again.
std::string again(const fs::path& folder) {
  return fetch_command(folder.filename().string()) + " --overwrite fetches it again";
}

void check_size(const fs::path& folder, const SpeechModel::File& file) {
  const fs::path path = folder / file.name;
  std::error_code absent;
  const auto size = fs::file_size(path, absent);
  if (absent) throw UserError("{}: {}; {}", path.string(), absent.message(), again(folder));
  if (static_cast<int64_t>(size) != file.num_bytes) {
    throw UserError("{}: has {} bytes instead of {}; {}", path.string(), size, file.num_bytes,
                    again(folder));
  }
}

[[noreturn]] void fail_speech_name(const std::string& name, const fs::path& folder) {
  std::vector<std::string> names;
  for (const KnownModel& known : known_models()) {
    if (known.is_language_model()) continue;
    if (known.name == name) {
      throw UserError("{}: no such model in {}; {} fetches it", name,
                      folder.empty() ? "a folder of models (PREDGEN_MODELS)" : folder.string(),
                      known.command());
    }
    names.emplace_back(known.name);
  }
  throw UserError("{}: no model of this name hears or speaks; {}", shortened(name),
                  suggest(name, names));
}

}  // namespace

int64_t SpeechModel::num_bytes() const {
  int64_t sum = 0;
  for (const File& file : files) sum += file.num_bytes;
  return sum;
}

bool is_speech_model(const fs::path& folder) {
  std::error_code unusable;
  return fs::is_regular_file(folder / kManifest, unusable);
}

SpeechModel read_speech_model(const fs::path& folder) {
  SpeechModel model = read_manifest(folder);
  for (const SpeechModel::File& file : model.files) check_size(folder, file);
  return model;
}

void check_hashes(const SpeechModel& model) {
  for (const SpeechModel::File& file : model.files) {
    const fs::path path = model.folder / file.name;
    if (sha256_hex(read_file(path)) != file.sha256) {
      throw UserError("{}: holds something else than it must; {}", path.string(),
                      again(model.folder));
    }
  }
}

std::vector<NamedModel> speech_models_in(const fs::path& folder) {
  std::vector<NamedModel> models;
  std::error_code absent;
  if (!fs::is_directory(folder, absent)) return models;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.') && is_speech_model(entry.path())) {
      models.push_back({name, entry.path()});
    }
  }
  std::ranges::sort(models, {}, &NamedModel::name);
  return models;
}

fs::path speech_model(std::string_view name, const fs::path& folder) {
  const fs::path path = folder / name;
  const bool is_name = !name.empty() && path.filename() == name && !folder.empty();
  if (!is_name || !is_speech_model(path)) fail_speech_name(std::string(name), folder);
  return read_speech_model(path).folder;
}

}  // namespace predgen

#include "core/speech_model.h"

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/suggest.h"
#include "core/text.h"

namespace predgen {
namespace fs = std::filesystem;

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

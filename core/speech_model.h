#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/model_names.h"

namespace predgen {

/// The path of a model that hears or speaks, by its name ("whisper-base", "silero", "hibari"): a
/// folder in `folder` made by scripts/fetch_model.py. Checks that its files exist with the right
/// sizes; their contents were checked when they were fetched. UserError with the command that
/// fetches it if it is missing or incomplete.
std::filesystem::path speech_model(std::string_view name,
                                   const std::filesystem::path& folder = models_folder());

/// What scripts/fetch_model.py recorded about such a folder, in its speech_model.json.
struct SpeechModel {
  struct File {
    std::string name;
    int64_t num_bytes;
    std::string sha256;
  };

  std::filesystem::path folder;
  std::string kind;  // KnownModel::kind
  std::string title;
  std::string licence;
  std::vector<File> files;

  int64_t num_bytes() const;
};

/// Whether `folder` is such a model, complete or not.
bool is_speech_model(const std::filesystem::path& folder);

/// UserError if speech_model.json cannot be read, or a file is missing or of another size.
SpeechModel read_speech_model(const std::filesystem::path& folder);

/// UserError for the first file whose hash does not match. Reads all files.
void check_hashes(const SpeechModel& model);

/// All in `folder`, sorted by name, possibly incomplete. None if there is no such folder.
std::vector<NamedModel> speech_models_in(const std::filesystem::path& folder);

}  // namespace predgen

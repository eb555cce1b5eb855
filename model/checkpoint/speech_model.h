#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint/model_names.h"

namespace predgen {

/// Where a model that hears or speaks is, by its name ("whisper-base", "silero", "hibari"): a
/// folder of scripts/fetch_model.py in `folder`. Its files are there with the sizes that they must
/// have; what they hold was checked when they were fetched. UserError with the command that fetches
/// it if it is not there or not whole.
std::filesystem::path speech_model(std::string_view name,
                                   const std::filesystem::path& folder = models_folder());

/// What scripts/fetch_model.py wrote down about such a folder, in its speech_model.json.
struct SpeechModel {
  struct File {
    std::string name;
    int64_t num_bytes;
    std::string sha256;
  };

  std::filesystem::path folder;
  std::string kind;  // of KnownModel
  std::string title;
  std::string licence;
  std::vector<File> files;

  int64_t num_bytes() const;
};

/// Whether `folder` is one, whole or not.
bool is_speech_model(const std::filesystem::path& folder);

/// UserError if what is written there cannot be read, or a file is missing or of another size.
SpeechModel read_speech_model(const std::filesystem::path& folder);

/// UserError for the first file that holds something else than it must. Reads all of them.
void check_hashes(const SpeechModel& model);

/// Those in `folder`, sorted by name, which need not be whole. None if there is no such folder.
std::vector<NamedModel> speech_models_in(const std::filesystem::path& folder);

}  // namespace predgen

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// The name of a part of a model that is split into files: "<prefix>-00001-of-00003.gguf".
struct SplitName {
  std::string prefix;
  int64_t number, count;

  /// The name of another part.
  std::string part(int64_t other) const;
};

/// Nothing for the name of another file.
std::optional<SplitName> parse_split_name(const std::string& name);

/// A model known to scripts/fetch_model.py, which has the same list with the addresses.
struct KnownModel {
  std::string_view name;  // "smollm2"
  std::string_view
      kind;  // "language model", "recogniser", "voice activity", "end of turn", "voice"
  std::string_view title;
  int64_t num_bytes;
  std::string_view licence;

  bool is_language_model() const { return kind == "language model"; }
  std::string command() const;
};

/// What a user types to fetch a model.
std::string fetch_command(const std::string& name);

std::span<const KnownModel> known_models();

/// Where models that are called by name are kept: $PREDGEN_MODELS, or else predgen/models in the
/// user's cache folder. Empty if the environment names neither.
std::filesystem::path models_folder();

struct NamedModel {
  std::string name;
  std::filesystem::path path;
};

/// Language models in `folder`, sorted by name: folders and GGUF files, possibly incomplete; of a
/// split model the first file. None if there is no such folder. For models that hear or speak see
/// SpeechModel.
std::vector<NamedModel> models_in(const std::filesystem::path& folder);

/// Models of which a fetch that ended early left a part in `folder`, by their names.
std::vector<NamedModel> begun_models_in(const std::filesystem::path& folder);

/// The path of the language model that a user calls `asked`: `asked` itself if that path exists,
/// else the model of that name in `folder`, with or without ".gguf". UserError if there is none,
/// with a suggestion and how to get it; also for a model that hears or speaks.
std::filesystem::path find_model(const std::filesystem::path& asked,
                                 const std::filesystem::path& folder = models_folder());

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

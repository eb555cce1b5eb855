#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

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
/// speech_model.h.
std::vector<NamedModel> models_in(const std::filesystem::path& folder);

/// Models of which a fetch that ended early left a part in `folder`, by their names.
std::vector<NamedModel> begun_models_in(const std::filesystem::path& folder);

/// The path of the language model that a user calls `asked`: `asked` itself if that path exists,
/// else the model of that name in `folder`, with or without ".gguf". UserError if there is none,
/// with a suggestion and how to get it; also for a model that hears or speaks.
std::filesystem::path find_model(const std::filesystem::path& asked,
                                 const std::filesystem::path& folder = models_folder());

}  // namespace predgen

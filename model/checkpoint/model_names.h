#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// A model that scripts/fetch_model.py fetches, which knows the same ones and where they are.
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

/// Where models lie that are called by their name: $PREDGEN_MODELS, or else predgen/models in the
/// user's cache folder. Empty if the environment names neither.
std::filesystem::path models_folder();

struct NamedModel {
  std::string name;
  std::filesystem::path path;
};

/// Language models in `folder`, sorted by name: folders and GGUF files, which need not be whole; of
/// a split model the first file. None if there is no such folder. Models that hear or speak are
/// those of speech_model.h.
std::vector<NamedModel> models_in(const std::filesystem::path& folder);

/// Where a language model is that a user calls `asked`: there, if that is the path of anything,
/// else what `folder` holds of that name, with or without ".gguf". UserError if there is none: what
/// it may have been meant to be, and how it is had; and for a model that hears or speaks.
std::filesystem::path find_model(const std::filesystem::path& asked,
                                 const std::filesystem::path& folder = models_folder());

}  // namespace predgen

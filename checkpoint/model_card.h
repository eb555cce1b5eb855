#pragma once

#include <filesystem>
#include <string>

namespace predgen {

/// What the README.md of a Hugging Face folder says in its YAML front matter and in its heading.
/// Texts are empty if it does not say, or if there is no README.md.
struct ModelCard {
  std::string title;    // "SmolLM2"
  std::string licence;  // "apache-2.0"
};

ModelCard read_model_card(const std::filesystem::path& folder);

}  // namespace predgen

#pragma once

#include <filesystem>
#include <string>

namespace predgen {

/// What the README.md of a Hugging Face folder says for programs (its YAML head) and in its
/// heading. Texts are empty where it says nothing, or there is none.
struct ModelCard {
  std::string title;    // "SmolLM2"
  std::string licence;  // "apache-2.0"
};

ModelCard read_model_card(const std::filesystem::path& folder);

}  // namespace predgen

#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/checkpoint.h"

namespace predgen {

/// What the README.md of a Hugging Face folder says in its YAML front matter and in its heading.
/// Texts are empty if it does not say, or if there is no README.md.
struct ModelCard {
  std::string title;    // "SmolLM2"
  std::string licence;  // "apache-2.0"
};

ModelCard read_model_card(const std::filesystem::path& folder);

/// A folder as transformers writes it: config.json, model.safetensors or shards with an index,
/// tokenizer.json or tokenizer.model, tokenizer_config.json, generation_config.json.
class HuggingFaceFolder : public Checkpoint {
 public:
  static bool is_at(const std::filesystem::path& path);
  explicit HuggingFaceFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::string name() const override { return folder_.string(); }
  ModelConfig read_config() const override;
  Json read_config_json() const override;
  std::unique_ptr<const StoredTensors> open_tensors() const override;
  bool has_tokenizer() const override;
  TokenizerFiles read_tokenizer(const std::filesystem::path& chat_template) const override;
  GenerationSettings read_generation() const override;
  std::vector<std::filesystem::path> weight_files() const override;
  std::vector<CheckpointFile> check_files() const override;
  void copy_files(CopiedFiles files, const std::filesystem::path& folder) const override;
  CheckpointLabel read_label() const override;

 private:
  void refuse_others() const;
  void check_weight_files(std::vector<CheckpointFile>& files) const;

  const std::filesystem::path folder_;
};

}  // namespace predgen

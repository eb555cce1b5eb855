#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "tensors/gguf_file.h"

namespace predgen {

/// A GGUF file, or the first of a split one, which holds the whole checkpoint. Headers are read
/// when it is opened, tensors on request.
class GgufCheckpoint : public Checkpoint {
 public:
  /// Whether `path` is a file that begins like a GGUF file or is named like one.
  static bool is_at(const std::filesystem::path& path);
  explicit GgufCheckpoint(const std::filesystem::path& path);

  std::string name() const override { return path_.string(); }
  CheckpointLabel read_label() const override;
  ModelConfig read_config() const override;
  Json read_config_json() const override;
  std::unique_ptr<const StoredTensors> open_tensors() const override;
  bool has_tokenizer() const override;
  TokenizerFiles read_tokenizer(const std::filesystem::path& chat_template) const override;
  GenerationSettings read_generation() const override;
  std::vector<std::filesystem::path> weight_files() const override { return file_->files(); }
  std::vector<CheckpointFile> check_files() const override;
  void copy_files(CopiedFiles files, const std::filesystem::path& folder) const override;

 private:
  const std::filesystem::path path_;
  const std::shared_ptr<const GgufFile> file_;
};

}  // namespace predgen

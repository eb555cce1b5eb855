#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/model_config.h"
#include "tensors/gguf_file.h"
#include "tensors/stored_tensors.h"

namespace predgen {

/// The tensors of a GGUF file by their Hugging Face names, converted to transformers' layout:
/// llama.cpp keeps the rows of a Llama's queries and keys and a delta net's heads in another order,
/// and adds the offset to Gemma's norms. Unknown tensors keep their names; tensors that every
/// reader computes for itself are left out.
class GgufTensors : public StoredTensors {
 public:
  /// `architecture`: the file's name for it.
  GgufTensors(std::shared_ptr<const GgufFile> file, const ModelConfig& config,
              const std::string& architecture);

  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return tensors_.contains(name); }
  TensorShape shape(const std::string& name) const override;
  at::Tensor tensor(const std::string& name) const override;
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const override;
  at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const override;
  std::optional<CodeLayout> code_layout(const std::string& name) const override;
  CodedRows read_codes(const std::string& name, int64_t begin, int64_t end) const override;
  void forget(const std::string& name) const override;

 private:
  struct Stored {
    const GgufFile::Entry* entry;
    int64_t head_dim;                  // if rows are in pairs, see in_halves(); 0: they are not
    double norm_offset;                // added by the conversion
    std::optional<WeightSpec> form{};  // if it has another form there, see from_gguf_form()
    bool is_as_it_is() const { return head_dim == 0 && norm_offset == 0.0 && !form; }
  };
  const Stored& find(const std::string& name) const;
  CodedRows regrouped_codes(const GgufFile::Entry& entry, const GroupedHeads& heads, int64_t begin,
                            int64_t end) const;

  const std::shared_ptr<const GgufFile> file_;
  std::map<std::string, Stored> tensors_;
};

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

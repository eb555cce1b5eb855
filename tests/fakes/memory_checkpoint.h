#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "tests/fakes/coded_matrix.h"

namespace predgen {

/// A checkpoint that is nowhere on disk: a configuration, and tensors by their Hugging Face name.
/// `coded`: those of them that are stored in few bits.
class MemoryCheckpoint : public Checkpoint {
 public:
  using CodedMatrices = std::map<std::string, CodedMatrix>;

  MemoryCheckpoint(ModelConfig config, std::map<std::string, at::Tensor> tensors,
                   CodedMatrices coded = {})
      : config_(std::move(config)), tensors_(std::move(tensors)), coded_(std::move(coded)) {
    for (const auto& [name, matrix] : coded_) tensors_[name] = matrix.values;
  }

  std::string name() const override { return "in memory"; }
  ModelConfig read_config() const override { return config_; }
  Json read_config_json() const override { return config_.to_json(); }
  std::unique_ptr<const StoredTensors> open_tensors() const override {
    return std::make_unique<const Tensors>(tensors_, coded_);
  }
  bool has_tokenizer() const override { return false; }
  TokenizerFiles read_tokenizer(const std::filesystem::path&) const override {
    throw UserError("{}: has no tokenizer", name());
  }
  GenerationSettings read_generation() const override {
    return {.fields = {}, .where = name(), .stop_tokens = {}};
  }
  std::vector<std::filesystem::path> weight_files() const override { return {}; }
  std::vector<CheckpointFile> check_files() const override { return {}; }
  void copy_files(CopiedFiles, const std::filesystem::path&) const override {}
  CheckpointLabel read_label() const override {
    return {.architecture = config_.to_json().at("model_type").get<std::string>(),
            .name = name(),
            .num_parameters = config_.num_parameters(),
            .num_bytes = 0,
            .type = config_.dtype,
            .licence = {},
            .context = config_.context_length()};
  }

 private:
  class Tensors : public StoredTensors {
   public:
    Tensors(std::map<std::string, at::Tensor> tensors, CodedMatrices coded)
        : tensors_(std::move(tensors)), coded_(std::move(coded)) {}

    std::vector<std::string> names() const override {
      std::vector<std::string> names;
      for (const auto& [name, tensor] : tensors_) names.push_back(name);
      return names;
    }
    bool contains(const std::string& name) const override { return tensors_.contains(name); }
    TensorShape shape(const std::string& name) const override {
      const at::Tensor& tensor = tensors_.at(name);
      return {tensor.scalar_type(), tensor.sizes().vec()};
    }
    at::Tensor tensor(const std::string& name) const override { return tensors_.at(name); }
    at::Tensor load(const std::string& name, at::Device device,
                    at::ScalarType dtype) const override {
      return tensor(name).to(device, dtype);
    }
    at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const override {
      return tensor(name).narrow(0, begin, end - begin).clone();
    }
    std::optional<CodeLayout> code_layout(const std::string& name) const override {
      const auto found = coded_.find(name);
      return found == coded_.end() ? std::nullopt : std::optional(found->second.layout);
    }
    CodedRows read_codes(const std::string& name, int64_t begin, int64_t end) const override {
      return coded_.at(name).read(begin, end);
    }
    void forget(const std::string&) const override {}

   private:
    const std::map<std::string, at::Tensor> tensors_;
    const CodedMatrices coded_;
  };

  const ModelConfig config_;
  std::map<std::string, at::Tensor> tensors_;
  const CodedMatrices coded_;
};

}  // namespace predgen

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/checkpoint/checkpoint.h"

namespace predgen {

/// A checkpoint that is nowhere on disk: a configuration, and tensors by their Hugging Face name.
class MemoryCheckpoint : public Checkpoint {
 public:
  MemoryCheckpoint(ModelConfig config, std::map<std::string, at::Tensor> tensors)
      : config_(std::move(config)), tensors_(std::move(tensors)) {}

  std::string name() const override { return "in memory"; }
  ModelConfig read_config() const override { return config_; }
  Json read_config_json() const override { return config_.to_json(); }
  std::unique_ptr<const StoredTensors> open_tensors() const override {
    return std::make_unique<const Tensors>(tensors_);
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
    explicit Tensors(std::map<std::string, at::Tensor> tensors) : tensors_(std::move(tensors)) {}

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
    void forget(const std::string&) const override {}

   private:
    const std::map<std::string, at::Tensor> tensors_;
  };

  const ModelConfig config_;
  const std::map<std::string, at::Tensor> tensors_;
};

}  // namespace predgen

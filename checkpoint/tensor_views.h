#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "tensors/safetensors.h"
#include "tensors/stored_tensors.h"

namespace predgen {

/// The tensors of a model that also sees or hears, by the names that the text model alone has:
/// "model.language_model." becomes "model."; so does "language_model.model.", as transformers 4
/// wrote it, with "language_model.lm_head.".
class TextTensors : public StoredTensors {
 public:
  explicit TextTensors(std::unique_ptr<const StoredTensors> whole) : whole_(std::move(whole)) {}

  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override;
  TensorShape shape(const std::string& name) const override;
  at::Tensor tensor(const std::string& name) const override;
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const override;
  at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const override;
  std::optional<CodeLayout> code_layout(const std::string& name) const override;
  CodedRows read_codes(const std::string& name, int64_t begin, int64_t end) const override;
  void forget(const std::string& name) const override;

 private:
  std::string stored(const std::string& name) const;

  const std::unique_ptr<const StoredTensors> whole_;
};

/// Tensors of which several are parts of one in the files, as experts are (WeightSpec::stacked):
/// each has its own name and shape. Views where they lie in one piece.
class UnstackedTensors : public StoredTensors {
 public:
  /// `where`: for messages. UserError for a tensor of another shape than its parts need.
  UnstackedTensors(std::unique_ptr<const StoredTensors> stored, const ModelConfig& config,
                   const std::string& where);

  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override;
  TensorShape shape(const std::string& name) const override;
  at::Tensor tensor(const std::string& name) const override;
  at::Tensor load(const std::string& name, at::Device device, at::ScalarType dtype) const override;
  at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const override;
  std::optional<CodeLayout> code_layout(const std::string& name) const override;
  CodedRows read_codes(const std::string& name, int64_t begin, int64_t end) const override;
  void forget(const std::string& name) const override;

 private:
  struct Part {
    StackedPlace place;
    std::vector<int64_t> shape;  // its own
  };
  /// Null for a tensor that stands alone.
  const Part* find(const std::string& name) const;

  const std::unique_ptr<const StoredTensors> stored_;
  std::map<std::string, Part> parts_;
  std::map<std::string, bool> stacks_;  // by name: whether in few bits
};

/// The tensors of a model as a folder or a GGUF file has them, made of those of weight_layout().
class StackedLayout {
 public:
  enum class Format { kFolder, kGguf };
  StackedLayout(const ModelConfig& config, Format format);

  /// Names, in `gguf` too, and shapes, in the order of weight_layout().
  const std::vector<WeightSpec>& tensors() const { return tensors_; }
  /// Rows [begin, end) of the first dimension of one of them. `rows_of`: of weight_layout()'s.
  at::Tensor rows(const std::string& name, int64_t begin, int64_t end,
                  const TensorRows& rows_of) const;

 private:
  struct Part {
    std::string name;
    StackedPlace place;
    int64_t height;
  };
  std::vector<WeightSpec> tensors_;
  std::map<std::string, std::vector<Part>> parts_;      // of each that has several
  std::map<std::string, std::vector<int64_t>> shapes_;  // of these
};

}  // namespace predgen

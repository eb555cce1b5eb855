#pragma once

#include <memory>
#include <string>
#include <vector>

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

}  // namespace predgen

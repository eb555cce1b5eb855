#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tensors/four_bit_matrix.h"
#include "tensors/stored_tensors.h"

namespace predgen {

/// The tensors of a Hugging Face folder, in which each matrix of find_bitsandbytes() and
/// find_mxfp4() is one tensor with a code_layout(), as in a GGUF file; the tensors that it is made
/// of are not seen.
class FourBitTensors : public StoredTensors {
 public:
  /// `where`: the folder, for messages. UserError for parts that do not fit together.
  FourBitTensors(std::unique_ptr<const StoredTensors> stored, const std::string& where);

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
  /// Null for a tensor that is stored as it is.
  const FourBitMatrix* find(const std::string& name) const;

  const std::unique_ptr<const StoredTensors> stored_;
  FourBitMatrices matrices_;
  std::set<std::string> parts_;
};

}  // namespace predgen

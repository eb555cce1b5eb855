#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tensors/stored_tensors.h"

namespace predgen {

/// A matrix in 4 bits, or several of one shape, that a folder stores as several tensors.
struct FourBitMatrix {
  std::vector<int64_t> shape;  // [out,in] or [count,out,in]
  CodeLayout layout;           // with a book; its group may be less than 16
  std::vector<std::string> parts;
  int64_t num_rows() const { return shape.size() == 3 ? shape[0] * shape[1] : shape[0]; }
  /// Rows [begin, end) of num_rows(), from the tensors that it was found in, which must be there.
  std::function<CodedRows(int64_t begin, int64_t end)> read;
};

/// By their names.
using FourBitMatrices = std::map<std::string, FourBitMatrix>;

/// Those of bitsandbytes ("nf4", "fp4"; Dettmers et al. 2023, QLoRA): NAME with two codes a byte,
/// the first in the high bits, whose blocks go over the rows' ends; NAME.quant_state.* with a JSON
/// object about it; NAME.quant_map, the values of codes; NAME.absmax, the blocks' scales. Scales
/// may be in 8 bits themselves: with NAME.nested_quant_map, NAME.nested_absmax and an offset.
/// UserError, with `where`, if these do not fit together.
FourBitMatrices find_bitsandbytes(const StoredTensors& stored, const std::string& where);

/// Those of MXFP4 as OpenAI stores it (OCP Microscaling Formats 1.0): NAME_blocks uint8
/// [out,groups,16] with two codes a byte, the first in the low bits; NAME_scales uint8
/// [out,groups], exponents. Or both with a dimension before these, of the experts.
FourBitMatrices find_mxfp4(const StoredTensors& stored, const std::string& where);

/// [..,bytes] uint8 as codes int8 [rows,in], two a byte.
at::Tensor codes_of_bytes(const at::Tensor& bytes, bool is_low_first, int64_t rows, int64_t in);

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

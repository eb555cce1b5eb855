#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensors/gguf_blocks.h"
#include "tensors/gguf_metadata.h"
#include "tensors/safetensors.h"

namespace predgen {

/// Types that write_gguf() writes: "F32", "F16", "BF16", "Q8_0", "Q4_0".
const GgufType& written_gguf_type(std::string_view name);

/// Encodes float32 rows [..,in] as a file's bytes, rounded as in ggml's reference
/// (quantize_row_*_ref): uint8.
at::Tensor encode_gguf_rows(const at::Tensor& rows, const GgufType& type);

/// The contents of a GGUF file of version 3.
class GgufContents {
 public:
  void add(std::string_view key, std::string_view text);
  void add(std::string_view key, const char* text) { add(key, std::string_view(text)); }
  void add(std::string_view key, bool flag);
  void add(std::string_view key, uint32_t number);
  void add(std::string_view key, float number);
  void add(std::string_view key, const std::vector<std::string>& texts);
  void add(std::string_view key, const std::vector<float>& numbers);
  void add(std::string_view key, const std::vector<int32_t>& numbers);
  void add(std::string_view key, const std::vector<bool>& flags);
  /// `shape`: outermost first, as everywhere except in the file.
  void add_tensor(std::string name, const GgufType& type, std::vector<int64_t> shape);

  /// Gets a tensor's rows in float32 from `rows`, block by block. Replaces the file once it is
  /// completely written; Error if the disk is full.
  void write(const std::filesystem::path& file, const TensorRows& rows) const;
  uint64_t num_bytes() const;

 private:
  struct Tensor {
    std::string name;
    const GgufType* type;
    std::vector<int64_t> shape;
    uint64_t num_bytes() const;
  };
  void begin(std::string_view key, GgufValueType type);
  std::string header() const;

  std::string pairs_;
  uint64_t num_pairs_ = 0;
  std::vector<Tensor> tensors_;
};

}  // namespace predgen

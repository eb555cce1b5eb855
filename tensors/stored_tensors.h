#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/code_book.h"

namespace predgen {

struct TensorShape {
  at::ScalarType dtype;
  std::vector<int64_t> shape;
};

/// How a file has the scales of a block of 256 inputs; see CodedRows::blocks.
enum class BlockScales {
  kNone,       // each group has its own
  kSixBits,    // Q4_K, Q5_K: float16 units of scales and offsets, then factors of 6 bits
  kEightBits,  // Q6_K: 16 factors of 8 bits with a sign, then a float16 unit
};
/// Bytes for a block.
constexpr int64_t block_scale_bytes(BlockScales scales) {
  return scales == BlockScales::kNone ? 0 : scales == BlockScales::kSixBits ? 16 : 18;
}
constexpr int64_t kBlockInputs = 256;

/// A matrix [rows,in] in few bits: w = scale * code + offset, where `group` inputs of a row share
/// scale and offset. With a book, codes are from 0 to 15 and w = scale * book[code].
struct CodeLayout {
  int64_t group = 0;            // 16, 32, .. 256, a divisor of the inputs
  int lowest = 0, highest = 0;  // code
  bool has_offsets = false;     // otherwise they are 0; never with a book
  std::optional<CodeValues> book = std::nullopt;
  BlockScales blocks = BlockScales::kNone;
  bool has_exponents = false;  // all scales are a half_of_e8m0() (tensors/gguf_blocks.h)
};

/// Rows of such a matrix.
struct CodedRows {
  at::Tensor codes;            // int8 [rows,in]
  at::Tensor scales, offsets;  // float32 [rows,in/group]
  /// The same scales and offsets as the file has them, if the layout has blocks: uint8
  /// [rows, in / kBlockInputs * block_scale_bytes()].
  at::Tensor blocks = {};
};
/// What they stand for, each product and sum rounded to float32: [rows,in].
at::Tensor widen(const CodedRows& rows, const CodeLayout& layout);

/// Tensors by their Hugging Face name, on disk until requested. UserError for an unknown name. May
/// be read by several threads at once.
class StoredTensors {
 public:
  virtual ~StoredTensors() = default;

  virtual std::vector<std::string> names() const = 0;
  virtual bool contains(const std::string& name) const = 0;
  /// The shape of tensor(), without reading it.
  virtual TensorShape shape(const std::string& name) const = 0;
  /// As stored, not to be written to: a view of the file's memory, which it keeps alive, if
  /// possible. A tensor in few bits is a copy in float32.
  virtual at::Tensor tensor(const std::string& name) const = 0;
  /// A tensor for arithmetic: on `device`, in `dtype`, aligned to 64 bytes.
  virtual at::Tensor load(const std::string& name, at::Device device,
                          at::ScalarType dtype) const = 0;
  /// Like tensor(), but a copy of rows [begin, end) of the first dimension; a scalar has one row.
  /// Only the copy takes memory.
  virtual at::Tensor read_rows(const std::string& name, int64_t begin, int64_t end) const = 0;
  /// The layout of a matrix, or of several in one tensor, stored in few bits; none for others.
  virtual std::optional<CodeLayout> code_layout(const std::string& name) const;
  /// Rows [begin, end) of a tensor that has a code_layout(); of more than two dimensions, counted
  /// over all but the last.
  virtual CodedRows read_codes(const std::string& name, int64_t begin, int64_t end) const;
  /// Releases the memory that views of the tensor have taken; reading them again reads the file
  /// again.
  virtual void forget(const std::string& name) const = 0;
};

/// Reads `num_bytes` at `offset` of a stored tensor into `to`; throws on failure. Called by several
/// threads at once.
using ReadBytes = std::function<void(char* to, size_t num_bytes, size_t offset)>;

/// Fills `to`, contiguous on the CPU, with a tensor of the same shape stored in type `stored`:
/// blocks that fit into a cache are read and converted by as many threads as LibTorch is set to
/// use, one reading while another converts. Rethrows the first exception of `read`.
void read_converted(const ReadBytes& read, at::ScalarType stored, const at::Tensor& to);

}  // namespace predgen

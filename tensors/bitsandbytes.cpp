// find_bitsandbytes() of tensors/four_bit_matrix.h.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/json.h"
#include "tensors/four_bit_matrix.h"

namespace predgen {
namespace {

constexpr const char* kState = ".quant_state.";
constexpr int64_t kMostGroup = 256;
constexpr int64_t kMostBlock = int64_t{1} << 20;  // far above 4,096, the largest there is

at::Tensor bytes_of(const at::Tensor& tensor) {
  return tensor.contiguous().flatten().view(at::kByte);
}

int64_t blocks_in(int64_t count, int64_t size) { return (count + size - 1) / size; }

class Reader {
 public:
  Reader(const StoredTensors& stored, std::string name, const std::string& where)
      : stored_(stored), name_(std::move(name)), where_(where + ": tensor " + name_) {}

  FourBitMatrix read(const std::string& state_name) {
    const at::Tensor text = bytes_of(stored_.tensor(state_name));
    const Json state =
        parse_json({reinterpret_cast<const char*>(text.const_data_ptr<uint8_t>()), text.nbytes()},
                   where_ + kState + "*");
    FourBitMatrix matrix{.shape = {}, .layout = {}, .parts = {name_, state_name}, .read = {}};
    matrix.shape = json_get<std::vector<int64_t>>(state, "shape", where_);
    block_ = block_size(state, "blocksize");
    check_shape(matrix.shape);
    matrix.layout = {.group = std::gcd(std::gcd(block_, kMostGroup), matrix.shape[1]),
                     .lowest = 0,
                     .highest = 15,
                     .has_offsets = false,
                     .book = read_book(matrix)};
    const int64_t num_blocks = blocks_in(matrix.shape[0] * matrix.shape[1], block_);
    const bool is_nested = part(matrix, ".absmax", num_blocks) == at::kByte;
    if (is_nested) read_nested(state, num_blocks, matrix);
    matrix.read = [reader = *this, shape = matrix.shape, group = matrix.layout.group](int64_t begin,
                                                                                      int64_t end) {
      const int64_t in = shape[1];
      const at::Tensor bytes = bytes_of(reader.stored_.tensor(reader.name_));
      const at::Tensor codes =
          codes_of_bytes(bytes.narrow(0, begin * in / 2, (end - begin) * in / 2),
                         /*is_low_first=*/false, end - begin, in);
      const at::Tensor scales = reader.scales(begin * in, end * in, group);
      return CodedRows{codes, scales.view({end - begin, in / group}), {}};
    };
    return matrix;
  }

 private:
  void check_shape(const std::vector<int64_t>& shape) const {
    const auto num_bytes = static_cast<int64_t>(stored_.tensor(name_).nbytes());
    int64_t count = 0;
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] % 2 != 0 ||
        __builtin_mul_overflow(shape[0], shape[1], &count) || count / 2 != num_bytes) {
      throw UserError("{}: has {} bytes, which is not a matrix of {} in 4 bits", where_, num_bytes,
                      c10::str(at::IntArrayRef(shape)));
    }
  }

  int64_t block_size(const Json& state, const char* key) const {
    const auto size = json_get<int64_t>(state, key, where_);
    if (size < 1 || size > kMostBlock) throw UserError("{}: \"{}\" is {}", where_, key, size);
    return size;
  }

  /// The type of a tensor that belongs to the matrix, which must have `count` values.
  at::ScalarType part(FourBitMatrix& matrix, const char* suffix, int64_t count) const {
    const std::string full = name_ + suffix;
    if (!stored_.contains(full)) throw UserError("{}: its {} is missing", where_, suffix + 1);
    const TensorShape found = stored_.shape(full);
    const bool is_scale = found.dtype == at::kFloat || found.dtype == at::kByte;
    if (!is_scale || found.shape != std::vector<int64_t>{count}) {
      throw UserError("{}: its {} is {} of {}, it should have {} values", where_, suffix + 1,
                      at::toString(found.dtype), c10::str(at::IntArrayRef(found.shape)), count);
    }
    matrix.parts.push_back(full);
    return found.dtype;
  }

  at::Tensor floats(FourBitMatrix& matrix, const char* suffix, int64_t count) const {
    if (part(matrix, suffix, count) != at::kFloat) {
      throw UserError("{}: its {} must be F32", where_, suffix + 1);
    }
    return stored_.tensor(name_ + suffix).clone();
  }

  CodeValues read_book(FourBitMatrix& matrix) const {
    CodeValues book{};
    const at::Tensor values = floats(matrix, ".quant_map", static_cast<int64_t>(book.size()));
    std::copy_n(values.const_data_ptr<float>(), book.size(), book.begin());
    if (!std::ranges::all_of(book, [](float value) { return std::isfinite(value); })) {
      throw UserError("{}: its quant_map has values that are not finite", where_);
    }
    return book;
  }

  void read_nested(const Json& state, int64_t num_blocks, FourBitMatrix& matrix) {
    nested_block_ = block_size(state, "nested_blocksize");
    nested_offset_ = json_get<float>(state, "nested_offset", where_);
    nested_map_ = floats(matrix, ".nested_quant_map", 256);
    nested_scales_ = floats(matrix, ".nested_absmax", blocks_in(num_blocks, nested_block_));
  }

  /// Of the groups of values [begin,end), counted over all rows.
  at::Tensor scales(int64_t begin, int64_t end, int64_t group) const {
    const int64_t first = begin / block_, last = blocks_in(end, block_);
    at::Tensor scales = stored_.read_rows(name_ + ".absmax", first, last);
    if (nested_map_.defined()) {  // in the order of bitsandbytes' operations
      const at::Tensor block = at::arange(first, last).div(nested_block_, "floor");
      scales = nested_map_.index_select(0, scales.to(at::kLong)) *
                   nested_scales_.index_select(0, block) +
               nested_offset_;
    }
    const at::Tensor block = at::arange(begin, end, group).div(block_, "floor") - first;
    return scales.index_select(0, block);
  }

  const StoredTensors& stored_;
  std::string name_, where_;
  int64_t block_ = 0, nested_block_ = 0;  // values, scales that share a scale
  float nested_offset_ = 0.0f;
  at::Tensor nested_map_, nested_scales_;  // float32 [256], [num_blocks/nested_block_]
};

}  // namespace

FourBitMatrices find_bitsandbytes(const StoredTensors& stored, const std::string& where) {
  FourBitMatrices found;
  for (const std::string& name : stored.names()) {
    const size_t at = name.rfind(kState);
    if (at == std::string::npos) continue;
    const std::string matrix = name.substr(0, at);
    if (!name.ends_with(".bitsandbytes__nf4") && !name.ends_with(".bitsandbytes__fp4")) {
      throw UserError("{}: tensor {} is for a type that is not supported (nf4 and fp4 are)", where,
                      name);
    }
    if (!stored.contains(matrix)) throw UserError("{}: tensor {} is missing", where, matrix);
    found.emplace(matrix, Reader(stored, matrix, where).read(name));
  }
  return found;
}

}  // namespace predgen

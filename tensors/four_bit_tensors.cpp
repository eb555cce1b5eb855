#include "tensors/four_bit_tensors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/json.h"
#include "tensors/gguf_blocks.h"
#include "tensors/safetensors.h"

namespace predgen {

// find_mxfp4() of tensors/four_bit_tensors.h.
namespace {

constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
constexpr int64_t kGroup = 32;

}  // namespace

FourBitMatrices find_mxfp4(const StoredTensors& stored, const std::string& where) {
  FourBitMatrices found;
  for (const std::string& blocks : stored.names()) {
    if (!blocks.ends_with(kBlocks)) continue;
    const std::string name = blocks.substr(0, blocks.size() - kBlocks.size());
    const std::string scales = name + std::string(kScales);
    const TensorShape shape = stored.shape(blocks);
    if (!stored.contains(scales) || shape.dtype != at::kByte || shape.shape.size() < 3 ||
        shape.shape.size() > 4 || shape.shape.back() != kGroup / 2) {
      continue;
    }
    const int64_t groups = shape.shape[shape.shape.size() - 2];
    const std::vector<int64_t> by_group(shape.shape.begin(), shape.shape.end() - 1);
    const TensorShape exponents = stored.shape(scales);
    if (exponents.dtype != at::kByte || exponents.shape != by_group || groups < 1) {
      throw UserError("{}: tensor {} is {} of {}, which is none for {} of {}", where, scales,
                      at::toString(exponents.dtype), c10::str(at::IntArrayRef(exponents.shape)),
                      blocks, c10::str(at::IntArrayRef(shape.shape)));
    }
    const auto read = [&stored, blocks, scales, groups](int64_t begin, int64_t end) {
      const auto rows_of = [&](const std::string& part, int64_t width) {
        return stored.tensor(part).view({-1, width}).slice(0, begin, end);
      };
      const at::Tensor stored_exponents = rows_of(scales, groups);
      CodedRows rows{codes_of_bytes(rows_of(blocks, groups * (kGroup / 2)), /*is_low_first=*/true,
                                    end - begin, groups * kGroup),
                     at::empty({end - begin, groups}, at::kFloat),
                     {}};
      const auto* from = stored_exponents.const_data_ptr<uint8_t>();
      auto* to = rows.scales.mutable_data_ptr<float>();
      for (int64_t i = 0; i < rows.scales.numel(); ++i) to[i] = half_of_e8m0(from[i]);
      return rows;
    };
    const CodeLayout layout{.group = kGroup,
                            .lowest = 0,
                            .highest = 15,
                            .has_offsets = false,
                            .book = kDoubledFp4,
                            .blocks = BlockScales::kNone,
                            .has_exponents = true};
    std::vector<int64_t> whole = by_group;
    whole.back() = groups * kGroup;
    found.emplace(
        name,
        FourBitMatrix{.shape = whole, .layout = layout, .parts = {blocks, scales}, .read = read});
  }
  return found;
}

// find_bitsandbytes() of tensors/four_bit_tensors.h.
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

namespace {

constexpr int64_t kLeastGroup = 16;  // that runs as it is stored

}  // namespace

at::Tensor codes_of_bytes(const at::Tensor& bytes, bool is_low_first, int64_t rows, int64_t in) {
  const at::Tensor flat = bytes.flatten();
  const at::Tensor low = at::bitwise_and(flat, 15), high = at::bitwise_right_shift(flat, 4);
  const at::Tensor both = is_low_first ? at::stack({low, high}, 1) : at::stack({high, low}, 1);
  return both.view({rows, in}).to(at::kChar);
}

FourBitTensors::FourBitTensors(std::unique_ptr<const StoredTensors> stored,
                               const std::string& where)
    : stored_(std::move(stored)), matrices_(find_bitsandbytes(*stored_, where)) {
  matrices_.merge(find_mxfp4(*stored_, where));
  for (const auto& [name, matrix] : matrices_)
    parts_.insert(matrix.parts.begin(), matrix.parts.end());
}

const FourBitMatrix* FourBitTensors::find(const std::string& name) const {
  const auto found = matrices_.find(name);
  return found == matrices_.end() ? nullptr : &found->second;
}

std::vector<std::string> FourBitTensors::names() const {
  std::vector<std::string> names;
  for (const std::string& name : stored_->names()) {
    if (!parts_.contains(name)) names.push_back(name);
  }
  for (const auto& [name, matrix] : matrices_) names.push_back(name);
  return names;
}

bool FourBitTensors::contains(const std::string& name) const {
  return find(name) != nullptr || (stored_->contains(name) && !parts_.contains(name));
}

TensorShape FourBitTensors::shape(const std::string& name) const {
  const FourBitMatrix* matrix = find(name);
  return matrix != nullptr ? TensorShape{at::kFloat, matrix->shape} : stored_->shape(name);
}

at::Tensor FourBitTensors::tensor(const std::string& name) const {
  const FourBitMatrix* matrix = find(name);
  return matrix != nullptr ? load(name, at::kCPU, at::kFloat) : stored_->tensor(name);
}

at::Tensor FourBitTensors::load(const std::string& name, at::Device device,
                                at::ScalarType dtype) const {
  const FourBitMatrix* matrix = find(name);
  if (matrix == nullptr) return stored_->load(name, device, dtype);
  at::Tensor loaded = at::empty(matrix->shape, at::TensorOptions(dtype).device(device));
  for_each_block(matrix->shape, [&](int64_t begin, int64_t end) {
    loaded.narrow(0, begin, end - begin).copy_(read_rows(name, begin, end));
  });
  return loaded;
}

at::Tensor FourBitTensors::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  const FourBitMatrix* matrix = find(name);
  if (matrix == nullptr) return stored_->read_rows(name, begin, end);
  const int64_t height = matrix->num_rows() / matrix->shape[0];
  std::vector<int64_t> shape = matrix->shape;
  shape[0] = end - begin;
  return widen(read_codes(name, begin * height, end * height), matrix->layout).view(shape);
}

std::optional<CodeLayout> FourBitTensors::code_layout(const std::string& name) const {
  const FourBitMatrix* matrix = find(name);
  if (matrix == nullptr) return stored_->code_layout(name);
  return matrix->layout.group < kLeastGroup ? std::nullopt : std::optional(matrix->layout);
}

CodedRows FourBitTensors::read_codes(const std::string& name, int64_t begin, int64_t end) const {
  const FourBitMatrix* matrix = find(name);
  if (matrix == nullptr) return stored_->read_codes(name, begin, end);
  PREDGEN_CHECK(0 <= begin && begin <= end && end <= matrix->num_rows(), "rows {} to {} of {}",
                begin, end, name);
  return matrix->read(begin, end);
}

void FourBitTensors::forget(const std::string& name) const {
  const FourBitMatrix* matrix = find(name);
  if (matrix == nullptr) return stored_->forget(name);
  for (const std::string& part : matrix->parts) stored_->forget(part);
}

}  // namespace predgen

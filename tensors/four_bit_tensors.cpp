#include "tensors/four_bit_tensors.h"

#include "core/error.h"
#include "tensors/safetensors.h"

namespace predgen {
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

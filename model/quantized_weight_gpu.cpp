// The GPU part of QuantizedWeight.
#include "core/error.h"
#include "model/gpu/gpu_matrix.h"
#include "model/gpu/gpu_support.h"
#include "model/quantized_weight.h"

namespace predgen {

QuantizedWeight::QuantizedWeight(const QuantizedWeight& like, const GpuMatrix& matrix)
    : kind_(like.kind_),
      out_(matrix.out),
      in_(like.in_),
      on_gpu_(std::make_shared<const GpuMatrix>(matrix)),
      relative_error_(like.relative_error_) {}

void QuantizedWeight::put_on_gpu(const GpuMatrix& matrix) {
  on_gpu_ = std::make_shared<const GpuMatrix>(matrix);
}

at::Device QuantizedWeight::device() const { return on_gpu_ ? on_gpu_->words.device() : at::kCPU; }

at::Tensor QuantizedWeight::gpu_product(const at::Tensor& rows, const at::Tensor& bias) const {
  return multiply(*group_kernels(), *on_gpu_, rows, bias);
}

std::vector<GpuMatrix> QuantizedWeight::matrices_of(
    std::span<const QuantizedWeight* const> weights) {
  std::vector<GpuMatrix> matrices;
  for (const QuantizedWeight* weight : weights) {
    if (weight == nullptr || !weight->on_gpu_) return {};
    matrices.push_back(*weight->on_gpu_);
  }
  return matrices;
}

std::vector<std::shared_ptr<const QuantizedWeight>> QuantizedWeight::in_one_piece(
    std::span<const QuantizedWeight* const> weights) {
  const GpuMatrix whole = stacked(matrices_of(weights));
  std::vector<std::shared_ptr<const QuantizedWeight>> parts;
  if (!whole.words.defined()) return parts;
  int64_t begin = 0;
  for (const QuantizedWeight* weight : weights) {
    const int64_t end = begin + weight->on_gpu_->words.size(0);
    parts.push_back(std::shared_ptr<const QuantizedWeight>(
        new QuantizedWeight(*weight, whole.panels(begin, end))));
    begin = end;
  }
  return parts;
}

std::shared_ptr<const QuantizedWeight> QuantizedWeight::whole_of(
    std::span<const QuantizedWeight* const> weights) {
  const GpuMatrix whole = predgen::whole_of(matrices_of(weights));
  if (!whole.words.defined()) return nullptr;
  return std::shared_ptr<const QuantizedWeight>(new QuantizedWeight(*weights.front(), whole));
}

}  // namespace predgen

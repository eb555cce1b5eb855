#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/grouped_matrix.h"
#include "kernels/quantize_rows.h"
#include "model/quantization.h"
#include "model/stored_packing.h"

namespace predgen {

struct GpuMatrix;  // of model/gpu/gpu_matrix.h

/// A weight matrix [out,in] in 8 bits (one scale per output), in 4 bits (a scale and an offset per
/// group of 128 inputs, or 64 or 32 where 128 does not divide them; centred on zero or on the
/// group's range, whichever is nearer to the matrix), or as a checkpoint stores it in few bits.
/// Activations stay bfloat16. Immutable.
class QuantizedWeight {
 public:
  /// `weight`: any floating type and device; the packed copy is on `device`. UserError naming
  /// `name` if its shape cannot be packed or a value is not finite.
  QuantizedWeight(const at::Tensor& weight, Quantization kind, at::Device device,
                  const std::string& name);

  /// As stored; see pack_as_stored(), and pack_planes() for GPUs with our kernels. UserError naming
  /// `name` for scales that are not finite, or that pack_as_stored() cannot represent in float16.
  QuantizedWeight(const CodeLayout& layout, int64_t out, int64_t in, const CodedRowsOf& rows,
                  at::Device device, const std::string& name);

  /// Bytes of so many values packed so on `device`, but for what fills up a panel or a chunk.
  static int64_t stored_bytes(const CodeLayout& layout, int64_t count, at::Device device);

  /// x [..,in] bfloat16 -> x W^T + bias [..,out], `bias` undefined or [out]. Fast for few rows: a
  /// decoding step is bound by the bytes of the weights. For many rows, the matrix is widened to
  /// bfloat16.
  at::Tensor operator()(const at::Tensor& input, const at::Tensor& bias = {}) const;
  /// The same in `type`, without widening the matrix where a kernel can do without; a row's bits do
  /// not depend on the number of rows.
  at::Tensor in_tiles(const at::Tensor& input, const at::Tensor& bias, at::ScalarType type) const;

  /// On a GPU: stacks the matrices of several linears over one input into one and returns each as a
  /// view of that memory. Empty if their kinds differ.
  static std::vector<std::shared_ptr<const QuantizedWeight>> in_one_piece(
      std::span<const QuantizedWeight* const> weights);
  /// The stacked matrix behind in_one_piece()'s views; null for others. Only usable for products.
  static std::shared_ptr<const QuantizedWeight> whole_of(
      std::span<const QuantizedWeight* const> weights);

  /// Rows of W by index [..], in bfloat16 [..,in]. Only for kStored on a CPU.
  at::Tensor rows(const at::Tensor& numbers) const;
  /// One row, to [in].
  void widen_row(int64_t row, float* to) const { grouped_.value().widen_row(row, to); }

  bool is_on_cpu() const { return !on_gpu_; }
  at::Device device() const;
  int64_t out() const { return out_; }
  int64_t in() const { return in_; }
  /// The matrix as the CPU kernels take it. Borrows it.
  std::pair<RowWeights, RowProduct> row_product() const;

  /// On a GPU: the codes, in the order in which products read them. Undefined on a CPU.
  at::Tensor words() const;
  int bits() const;
  int64_t num_bytes() const;
  /// ||W - quantised W|| / ||W||.
  double relative_error() const { return relative_error_; }

 private:
  QuantizedWeight(const QuantizedWeight& like, const GpuMatrix& matrix);
  /// Empty if one of them is not on a GPU.
  static std::vector<GpuMatrix> matrices_of(std::span<const QuantizedWeight* const> weights);
  void put_on_gpu(const GpuMatrix& matrix);
  /// `tile`: on a GPU, as of predgen::widened_product().
  at::Tensor widened_product(const at::Tensor& rows, int64_t tile) const;
  bool has_gpu_product() const;
  at::Tensor gpu_product(const at::Tensor& rows, const at::Tensor& bias, at::ScalarType type) const;
  RowError make_int8(const at::Tensor& weight, at::Device device);
  RowError make_int4(const at::Tensor& weight, at::Device device, const std::string& name);

  Quantization kind_;
  int64_t out_, in_;
  // Exactly one of these three is set.
  std::shared_ptr<const GpuMatrix> on_gpu_;
  std::optional<GroupedMatrix> grouped_;  // on a CPU, in groups
  at::Tensor values_, scales_;            // on a CPU, 8 bits: int8 [out,in], bfloat16 [out]
  double relative_error_ = 0.0;
};

}  // namespace predgen

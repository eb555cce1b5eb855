#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>

#include "model/gpu/gpu_kernels.h"

namespace predgen {

/// A matrix [out,in] in 4 or 8 bits as our kernels for GPUs multiply it:
/// W = (q - 2^(bits - 1)) * scale + offset, where a group of inputs of a row shares scale and
/// offset. A panel has 16 outputs, a chunk 64 inputs (8 bits: 32); both are filled up.
struct GpuMatrix {
  int bits = 0;
  int64_t out = 0, in = 0;  // in: filled up to a multiple of 16
  /// int32 [panels,chunks,8,4,2,2]: output o and o + 8 of a panel, inputs 4 i to 4 i + 3 of each
  /// step of 16. In 8 bits a word has those of one step, in 4 bits of two, the earlier one's in the
  /// low byte of each half; of two inputs beside each other the second one is in the high half.
  at::Tensor words;
  at::Tensor scales;  // float16 [panels,groups,1 or 2,8,2], scales before offsets

  int64_t group() const { return in / scales.size(1); }
  bool has_offsets() const { return scales.size(2) == 2; }
  int64_t num_bytes() const { return static_cast<int64_t>(words.nbytes() + scales.nbytes()); }

  /// Panels [begin,end) as a matrix of their own, with the same memory.
  GpuMatrix panels(int64_t begin, int64_t end) const;
  /// Without x, bias and y. Borrows the tensors.
  GpuGroupProduct product() const;
};

/// `words` of pack_words() and `scales` of pack_scales() (kernels/grouped_matrix.h) as a matrix on
/// `device`; groups of 16, 32, 64, .. or all inputs. Error for others.
GpuMatrix to_gpu_matrix(int bits, int64_t out, const at::Tensor& words, const at::Tensor& scales,
                        at::Device device);

/// One matrix of several that have the same inputs, one below the other, or nothing defined where
/// their kinds differ or one but the last has outputs that fill no panel.
GpuMatrix stacked(std::span<const GpuMatrix> matrices);
/// Tensors as one, one behind the other in their first dimension, without a copy; undefined where
/// they do not lie so in one piece of memory, or one is undefined.
at::Tensor whole_of(std::span<const at::Tensor> parts);
/// The same of matrices, as stacked() and then panels() leave them; nothing defined for others.
GpuMatrix whole_of(std::span<const GpuMatrix> matrices);

/// x [rows,in] W^T + bias, bfloat16, up to kMaxGpuProductRows rows; no row depends on the others.
/// `bias` undefined or bfloat16 [out].
at::Tensor multiply(const GpuKernels& kernels, const GpuMatrix& matrix, const at::Tensor& x,
                    const at::Tensor& bias);
/// W in bfloat16 [out,in], by our kernels or, if null, by LibTorch's operators.
at::Tensor widen(const GpuKernels* kernels, const GpuMatrix& matrix);

}  // namespace predgen

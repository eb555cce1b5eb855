#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/code_book.h"
#include "kernels/gpu/gpu_kernels.h"

namespace predgen {

struct GpuPlanes;  // of model/gpu/gpu_planes.h

/// A matrix [out,in] in few bits in the layout of our GPU kernels: W as of GpuGroupProduct; with a
/// book, in 4 bits, W = book.value(q) * scale. A panel has 16 outputs, a chunk 64 inputs (8 bits:
/// 32); both are padded.
struct GpuMatrix {
  int bits = 0;
  int64_t out = 0, in = 0;  // in: padded to a multiple of 16
  GpuScaling scaling = GpuScaling::kHalf;
  /// int32 [panels,chunks,8,4,2,2]: output o and o + 8 of a panel, inputs 4 i to 4 i + 3 of each
  /// step of 16. In 8 bits a word holds the codes of one step, in 4 bits of two, the earlier step's
  /// in the low byte of each half; of two neighbouring inputs the second one is in the high half.
  /// Of GpuPlanes [panels,chunks,*]: four bits of each code as in 4 bits, then, lane by lane, the
  /// others: bits 4 of four words in a word, or bits 4 and 5 of two, the first word's lowest.
  at::Tensor words;
  /// float16 [panels,groups,1 or 2,8,2], scales before offsets; kExponents: uint8
  /// [panels,groups,16], for output o and o + 8 in turn. Of blocks uint8 [panels,blocks,*]:
  /// such scales and offsets of the block, then the factors of each of its four chunks. kSixBits,
  /// for output o and o + 8: four bytes with the low bits of factors of scales and of offsets, a
  /// second group's above, for each o; then the bits above these, for each two o. kEightBits: a
  /// byte for each group, o and o + 8, 128 more than the factor.
  at::Tensor scales;
  /// int32, all 0 between products: GpuGroupProduct::counters. Panels share those of the whole, so
  /// the products of a matrix and of its panels run one after the other.
  at::Tensor counters;
  std::optional<CodeBook> book = std::nullopt;

  int64_t group() const;
  int64_t num_bytes() const { return static_cast<int64_t>(words.nbytes() + scales.nbytes()); }

  /// Panels [begin,end) as a matrix of their own; shares memory.
  GpuMatrix panels(int64_t begin, int64_t end) const;
  /// The launch arguments without x, bias and y. Borrows the tensors. Error if there is no kernel:
  /// in 8 bits with offsets.
  GpuGroupProduct product() const;
};

/// `words` of pack_words() and `scales` of pack_scales() (kernels/grouped_matrix.h) as a matrix on
/// `device`; groups of 16, 32, 64, .. or all inputs. Error for others.
GpuMatrix to_gpu_matrix(int bits, int64_t out, const at::Tensor& words, const at::Tensor& scales,
                        at::Device device, const std::optional<CodeBook>& book = {});

GpuMatrix to_gpu_matrix(const GpuPlanes& planes, at::Device device);

/// Several matrices with the same inputs stacked into one; undefined if their kinds differ or if
/// one other than the last has outputs that do not fill whole panels.
GpuMatrix stacked(std::span<const GpuMatrix> matrices);
/// Tensors concatenated along their first dimension without a copy; undefined if they are not
/// adjacent in memory in that order, or one is undefined.
at::Tensor whole_of(std::span<const at::Tensor> parts);
/// The same for matrices, as stacked() and then panels() leave them; undefined for others.
GpuMatrix whole_of(std::span<const GpuMatrix> matrices);
/// GpuMatrix::counters
at::Tensor counters_for(int64_t out, at::Device device);

/// x [rows,in] W^T in bfloat16, by LibTorch: W is widened once, so many outputs at a time that a
/// large head never exists twice. `tile`: rows of each of LibTorch's products, which then do not
/// depend on the number of rows; 0: all.
at::Tensor widened_product(const GpuKernels* kernels, const GpuMatrix& matrix, const at::Tensor& x,
                           int64_t tile);
/// W in bfloat16 [out,in], by our kernels or, if `kernels` is null, by LibTorch's operators, which
/// do not take one of GpuPlanes.
at::Tensor widen(const GpuKernels* kernels, const GpuMatrix& matrix);

}  // namespace predgen

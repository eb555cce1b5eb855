#pragma once

#include "kernels/row_kernels.h"

namespace predgen {

enum class RowWeights { kFloat32, kBfloat16, kInt8, kGroupsOf4Bits, kGroupsOf8Bits };

constexpr bool are_groups(RowWeights weights) {
  return weights == RowWeights::kGroupsOf4Bits || weights == RowWeights::kGroupsOf8Bits;
}
/// The outputs that RowKernel::multiply counts as one.
constexpr int64_t outputs_of_unit(RowWeights weights) {
  return are_groups(weights) ? kGroupPanel : 1;
}

/// The kernels for this processor, or for a lower level if ATEN_CPU_CAPABILITY in the environment
/// asks for it, as for LibTorch.
const RowKernels& row_kernels();
/// Whether these use SIMD: the plain ones are no faster than LibTorch's in bfloat16.
bool has_vector_kernels_on_cpu();
bool has_avx2_kernels_on_cpu();
/// In bfloat16: if it has AMX and ours are not limited to less, or ours have no SIMD.
bool is_libtorch_faster_at_many_rows();

/// Sizes of `product.rows` rows, packed for a kernel of `weights`.
struct PackedSizes {
  int64_t num_values, num_scales;  // values of 4 bytes; scales and sums each
  int64_t stride, scale_stride;    // as in PackedRows
};
PackedSizes packed_sizes(RowWeights weights, const RowProduct& product);

const RowKernel& row_kernel(RowWeights weights, const RowKernels& kernels = row_kernels());

/// Uses as many threads as LibTorch is set to use.
void run_on_cpu(RowWeights weights, const RowProduct& product,
                const RowKernels& kernels = row_kernels());

}  // namespace predgen

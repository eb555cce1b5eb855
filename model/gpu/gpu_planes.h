#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "kernels/quantize_rows.h"
#include "model/stored_packing.h"

namespace predgen {

/// A matrix [out,in] of blocks (CodeLayout::blocks) with the bits and the bytes that its file has,
/// on the host, for GPUs.
struct GpuPlanes {
  int bits = 0;  // 4, 5 or 6
  int64_t out = 0;
  at::Tensor low, high;  // of pack_words() in 4 bits: of each code four bits; those above, if any
  at::Tensor scales;     // GpuMatrix::scales
};

/// Packs as pack_as_stored() does, but loses nothing: `error` gets 0, or is not finite if a block's
/// float16 number is not. Error for other layouts than Q4_K, Q5_K and Q6_K have.
GpuPlanes pack_planes(const CodeLayout& layout, int64_t out, int64_t in, const CodedRowsOf& rows,
                      RowError& error);

}  // namespace predgen

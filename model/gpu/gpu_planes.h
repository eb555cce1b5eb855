#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>

#include "kernels/code_book.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/quantize_rows.h"
#include "model/stored_packing.h"

namespace predgen {

/// A matrix [out,in] with the bits and the bytes that its file has, on the host, for GPUs.
struct GpuPlanes {
  int bits = 0;  // 4, 5 or 6
  int64_t out = 0;
  GpuScaling scaling = GpuScaling::kSixBits;
  at::Tensor low, high;  // of pack_words() in 4 bits: of each code four bits; those above, if any
  at::Tensor scales;     // GpuMatrix::scales
  std::optional<CodeBook> book = std::nullopt;
};

/// GpuPlanes::bits of a layout; 0 if pack_planes() does not take it. It takes those of Q4_K, Q5_K,
/// Q6_K and MXFP4, and others with 17 to 32 codes from -16 on, with offsets from 0 on, as Q5_0 and
/// Q5_1 have them.
int plane_bits(const CodeLayout& layout);
/// Bytes of so many values, but for what fills up a panel or a chunk.
int64_t plane_bytes(const CodeLayout& layout, int64_t count);

/// Packs as pack_as_stored() does, but rounds only scales and offsets that are float32 numbers of
/// their groups, to float16, which those of Q5_0 and Q5_1 are already. `error` gets this, and is
/// not finite if a number of the file is not. Error for other layouts.
GpuPlanes pack_planes(const CodeLayout& layout, int64_t out, int64_t in, const CodedRowsOf& rows,
                      RowError& error);

}  // namespace predgen

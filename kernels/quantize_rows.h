#pragma once

#include <cstdint>

// Rows of a weight matrix in 8 and 4 bits, without LibTorch. Scales and offsets are the bits of a
// narrow type: what they are rounded to is what the rest is computed with.

namespace predgen {

/// What is lost of a row, and what there is of it: squares. Not finite where the row is not; then
/// the rest is not written.
struct RowError {
  double lost = 0, total = 0;
};

/// The narrow type of a scale: bfloat16 for the kernels of 8 bits on CPUs, else float16.
enum class ScaleType { kBfloat16, kFloat16 };

/// w ~ values * scale, of the row's largest.
RowError quantize_int8_row(const float* w, int64_t in, ScaleType type, int8_t* values,
                           uint16_t* scale);

/// Offsets in 4 bits: the middle of each group's range, or zero.
enum class Int4Centre { kRange, kZero };

/// w ~ (q - 8) * scale + offset by groups of inputs, `in` a multiple of `group`, that one of 16:
/// q [in] in [0,15], scale and offset [in/group,2] in float16. Null: the error alone, which is not
/// finite either where float16 has no number as large as they are.
RowError quantize_int4_row(const float* w, int64_t in, int64_t group, Int4Centre centre, uint8_t* q,
                           uint16_t* scales);

}  // namespace predgen

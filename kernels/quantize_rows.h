#pragma once

#include <cstdint>

// Rows of a weight matrix in 8 and 4 bits, without LibTorch. Scales and offsets are the bits of a
// narrow type; the codes are computed from the rounded ones.

namespace predgen {

/// Squared error and squared norm of a row. Not finite if the row is not; then the rest is not
/// written.
struct RowError {
  double lost = 0, total = 0;
};

/// The narrow type of a scale: bfloat16 for the kernels of 8 bits on CPUs, else float16.
enum class ScaleType { kBfloat16, kFloat16 };

/// w ~ values * scale; the scale is from the row's largest value.
RowError quantize_int8_row(const float* w, int64_t in, ScaleType type, int8_t* values,
                           uint16_t* scale);

/// Offsets in 4 bits: the middle of each group's range, or zero.
enum class Int4Centre { kRange, kZero };

/// w ~ (q - 8) * scale + offset by groups of inputs, `in` a multiple of `group`, `group` a multiple
/// of 16: q [in] in [0,15], scale and offset [in/group,2] in float16. Null: computes only the
/// error, which is also not finite if float16 cannot hold scale or offset.
RowError quantize_int4_row(const float* w, int64_t in, int64_t group, Int4Centre centre, uint8_t* q,
                           uint16_t* scales);

/// Of each group of codes, `group` a multiple of 16 up to kMaxGroup: to `sums` their sum, to
/// `squares` the sum of their squares.
void sum_codes(const int8_t* codes, int64_t num_groups, int64_t group, int32_t* sums,
               int32_t* squares);

}  // namespace predgen

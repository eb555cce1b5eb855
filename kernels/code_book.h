#pragma once

#include <array>

#include "kernels/row_kernels.h"

// Without LibTorch.

namespace predgen {

/// What the sixteen 4-bit codes of a matrix stand for: w = scale * values[code]. Finite.
using CodeValues = std::array<float, 16>;

/// Twice the values of the 4-bit floating-point numbers of MXFP4 (E2M1), which are whole.
constexpr CodeValues kDoubledFp4{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// The same as kernels look it up, in one byte or two.
/// Whole numbers from -128 to 127 (IQ4_NL; MXFP4, doubled) take one byte, with a unit of 1, and are
/// exact. Others take two: multiples of 1/192 of the largest magnitude (bitsandbytes' FP4) are
/// exact up to float32's rounding, and others (NF4) are rounded to the nearest 1/32448 of it: NF4's
/// by at most 1.4e-4 of themselves, where bfloat16 would lose up to 3.9e-3.
struct CodeBook : CodeTable {
  explicit CodeBook(const CodeValues& values);

  float value(int code) const { return without_unit(code) * unit; }
  float without_unit(int code) const {
    return static_cast<float>(256 * (high[code] - 128) + (low[code] - 128)) * 0x1p-8f;
  }
};

}  // namespace predgen

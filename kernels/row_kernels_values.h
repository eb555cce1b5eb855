// What lanes along the inputs hold: float32, bfloat16 and 8-bit weights [out,in], and the matching
// x.
#pragma once

#include "kernels/row_kernels_pack.h"

namespace predgen {
namespace {

using Four __attribute__((vector_size(16))) = float;

struct PlainSums {
  static constexpr bool kHasScales = false;
  static float finish(const RowProduct&, int64_t, float sum) { return sum; }
};

struct NarrowBias {
  static float bias(const RowProduct& product, int64_t output) {
    return widen(static_cast<const uint16_t*>(product.bias) + output);
  }
};

struct Float32 : PlainSums {
  using Value = float;
  using Vector = Isa::Floats;
  using Sum = Isa::Floats;
  using Packed = float;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = Isa::kLanes;

  static void pack(const float* x, int64_t in, int64_t stride, float* to) {
    __builtin_memcpy(to, x, static_cast<size_t>(in) * sizeof(*x));
    __builtin_memset(to + in, 0, static_cast<size_t>(stride - in) * sizeof(*x));
  }
  static Sum zero() { return Isa::all(0.0f); }
  static void load(const float* from, Vector (&to)[kParts]) { to[0] = Isa::load_floats(from); }
  static Vector load_x(const float* from, int) { return Isa::load_floats(from); }
  static Sum multiply_add(Sum sum, Vector a, Vector b) { return Isa::multiply_add(sum, a, b); }
  static Four sum(Sum a, Sum b, Sum c, Sum d) { return Isa::sum(a, b, c, d); }
  static Isa::Floats sum(const Sum (&sums)[Isa::kLanes]) { return Isa::sum(sums); }
  static float bias(const RowProduct& product, int64_t output) {
    return static_cast<const float*>(product.bias)[output];
  }
};

struct Bfloat16Base : PlainSums, NarrowBias {
  using Value = uint16_t;
};

/// The even, then the odd inputs of each step: widening them is a shift and a mask.
struct WideBfloat16 : Bfloat16Base {
  using Vector = Isa::Floats;
  using Sum = Isa::Floats;
  using Packed = float;
  static constexpr int kParts = 2;
  static constexpr int64_t kStep = 2 * Isa::kLanes;

  static void pack(const uint16_t* x, int64_t in, int64_t stride, float* to) {
    for (int64_t i = 0; i < stride; i += kStep) {
      uint16_t last[kStep] = {};
      if (i + kStep > in && i < in) {
        __builtin_memcpy(last, x + i, static_cast<size_t>(in - i) * sizeof(*x));
      }
      Vector even, odd;
      Isa::load_pairs(i + kStep > in ? last : x + i, even, odd);
      Isa::store(to + i, even);
      Isa::store(to + i + Isa::kLanes, odd);
    }
  }
  static Sum zero() { return Isa::all(0.0f); }
  static void load(const uint16_t* from, Vector (&to)[kParts]) {
    Isa::load_pairs(from, to[0], to[1]);
  }
  static Vector load_x(const float* from, int part) {
    return Isa::load_floats(from + part * Isa::kLanes);
  }
  static Sum multiply_add(Sum sum, Vector a, Vector b) { return Isa::multiply_add(sum, a, b); }
  static Four sum(Sum a, Sum b, Sum c, Sum d) { return Isa::sum(a, b, c, d); }
  static Isa::Floats sum(const Sum (&sums)[Isa::kLanes]) { return Isa::sum(sums); }
};

/// Sums as above, but x stays in 16 bits, so that it fits into the L1 cache along with a tile's
/// rows of W.
struct NarrowBfloat16 : WideBfloat16 {
  using Packed = uint16_t;

  static void pack(const uint16_t* x, int64_t in, int64_t stride, uint16_t* to) {
    __builtin_memcpy(to, x, static_cast<size_t>(in) * sizeof(*x));
    __builtin_memset(to + in, 0, static_cast<size_t>(stride - in) * sizeof(*x));
  }
  static Vector load_x(const uint16_t* from, int part) {
    Vector parts[kParts];
    Isa::load_pairs(from, parts[0], parts[1]);
    return parts[part];
  }
};

struct Int8Values : NarrowBias {
  using Value = int8_t;
  using Vector = Isa::Ints;
  using Sum = Isa::Ints;
  using Packed = int16_t;
  static constexpr int kParts = 1;
  static constexpr int64_t kStep = 2 * Isa::kLanes;
  static constexpr bool kHasScales = true;

  static Sum zero() { return Isa::zero(); }
  static void load(const int8_t* from, Vector (&to)[kParts]) { to[0] = Isa::load_bytes(from); }
  static Vector load_x(const int16_t* from, int) { return Isa::load_ints(from); }
  static Sum multiply_add(Sum sum, Vector a, Vector b) { return Isa::multiply_add(sum, a, b); }
  static Four sum(Sum a, Sum b, Sum c, Sum d) { return Isa::sum(a, b, c, d); }
  static Isa::Floats sum(const Sum (&sums)[Isa::kLanes]) { return Isa::sum(sums); }
  static float finish(const RowProduct& product, int64_t output, float sum) {
    return sum * widen(product.scales + output);
  }
};

}  // namespace
}  // namespace predgen

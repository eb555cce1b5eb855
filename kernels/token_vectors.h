// GCC's and Clang's vectors of PREDGEN_LANES values, set by the including source. In an unnamed
// namespace and without the standard library, whose copy for another processor the linker might
// pick.
#pragma once

#include <cstdint>

namespace predgen {
namespace {

constexpr int64_t kLanes = PREDGEN_LANES;

using Floats __attribute__((vector_size(4 * kLanes))) = float;
using Words __attribute__((vector_size(4 * kLanes))) = uint32_t;
using Halves __attribute__((vector_size(2 * kLanes))) = uint16_t;

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

inline Floats all(float value) { return Floats{} + value; }
inline Floats load(const float* from) {
  Floats values;
  __builtin_memcpy(&values, from, sizeof(values));
  return values;
}
inline Floats load(const uint16_t* from) {
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof(halves));
  return reinterpret_cast<Floats>(__builtin_convertvector(halves, Words) << 16);
}
inline void store(float* to, Floats values) { __builtin_memcpy(to, &values, sizeof(values)); }
/// Rounds to nearest even.
inline void store(uint16_t* to, Floats values) {
  const auto bits = reinterpret_cast<Words>(values);
  const Words rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  const Words not_a_number = reinterpret_cast<Words>(values != values);
  const Words kept = (rounded & ~not_a_number) | (not_a_number & 0x7FC0);
  const Halves halves = __builtin_convertvector(kept, Halves);
  __builtin_memcpy(to, &halves, sizeof(halves));
}
/// The first `count` lanes; zeros in the others.
template <class T>
Floats load(const T* from, int64_t count) {
  if (count >= kLanes) return load(from);
  T some[kLanes] = {};
  __builtin_memcpy(some, from, static_cast<size_t>(count) * sizeof(T));
  return load(some);
}
template <class T>
void store(T* to, Floats values, int64_t count) {
  if (count >= kLanes) return store(to, values);
  T some[kLanes];
  store(some, values);
  __builtin_memcpy(to, some, static_cast<size_t>(count) * sizeof(T));
}

/// Interleaves the lanes of the lower halves of a and b or, with half 1, of the upper ones. V is
/// Floats; as a template parameter it keeps code for other lane counts from being compiled.
template <int half, class V>
V by_turns(V a, V b) {
  constexpr int n = kLanes, h = n / 2 * half;
  if constexpr (n == 4) {
    return __builtin_shufflevector(a, b, h, n + h, h + 1, n + h + 1);
  } else if constexpr (n == 8) {
    return __builtin_shufflevector(a, b, h, n + h, h + 1, n + h + 1, h + 2, n + h + 2, h + 3,
                                   n + h + 3);
  } else {
    return __builtin_shufflevector(a, b, h, n + h, h + 1, n + h + 1, h + 2, n + h + 2, h + 3,
                                   n + h + 3, h + 4, n + h + 4, h + 5, n + h + 5, h + 6, n + h + 6,
                                   h + 7, n + h + 7);
  }
}

/// Lane i of the result is the sum of the lanes of vector i.
inline Floats sums_of(Floats (&vectors)[kLanes]) {
#pragma GCC unroll 8
  for (int64_t count = kLanes / 2; count > 0; count /= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < count; ++i) {
      const Floats a = vectors[i], b = vectors[i + count];
      vectors[i] = by_turns<0>(a, b) + by_turns<1>(a, b);
    }
  }
  return vectors[0];
}

inline float sum(Floats lanes) {
  Floats vectors[kLanes] = {lanes};
  return sums_of(vectors)[0];
}

/// e^x to about 2 ulp; 0 where the result is below float32's normal range.
inline Floats exponential(Floats x) {
  constexpr float kLowest = -87.0f, kHighest = 88.0f, kRounder = 12582912.0f;  // 1.5 * 2^23
  const Floats lowest = all(kLowest), highest = all(kHighest);
  Floats power = x < lowest ? lowest : x;
  power = power > highest ? highest : power;
  const Floats turns = power * 1.44269504f + kRounder;  // the integer is in the last bits
  const Floats whole = turns - kRounder;
  const Floats rest = (power - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Floats series = all(1.9875691500e-4f);
  series = series * rest + 1.3981999507e-3f;
  series = series * rest + 8.3334519073e-3f;
  series = series * rest + 4.1665795894e-2f;
  series = series * rest + 1.6666665459e-1f;
  series = series * rest + 5.0000001201e-1f;
  series = series * (rest * rest) + rest + 1.0f;
  const Words exponent = (reinterpret_cast<Words>(turns) << 23) + 0x3F800000U;
  const Floats result = series * reinterpret_cast<Floats>(exponent);
  return x < lowest ? Floats{} : (x != x ? x : result);
}

}  // namespace
}  // namespace predgen

// The kernels of token_kernels.h by the vectors of GCC and Clang, of PREDGEN_LANES values as the
// including source says. In an unnamed namespace and without the standard library, whose copy for
// another processor the linker might take.
#pragma once

#include "model/kernels/token_kernels.h"

namespace predgen {
namespace {

constexpr int64_t kLanes = PREDGEN_LANES;
constexpr int64_t kChunk = 64;     // keys whose scores are computed together
constexpr int64_t kMaxHeads = 16;  // whose sums are under way together

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
/// To the nearest, of two the even one.
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

/// The lanes of a and b by turns; of their lower halves or, with half 1, of the upper ones. V is
/// Floats; as a parameter it keeps the other numbers of lanes from being looked at.
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

/// e^x to about two units in the last place; 0 for what float32 has no normal number for.
inline Floats exponential(Floats x) {
  constexpr float kLowest = -87.0f, kHighest = 88.0f, kRounder = 12582912.0f;  // 1.5 * 2^23
  const Floats lowest = all(kLowest), highest = all(kHighest);
  Floats power = x < lowest ? lowest : x;
  power = power > highest ? highest : power;
  const Floats turns = power * 1.44269504f + kRounder;  // the integer stands in the last bits
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

template <class T>
void load_row(const void* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += kLanes) {
    store(to + i, load(static_cast<const T*>(from) + i, count - i), count - i);
  }
}
template <class T>
void store_row(const float* from, int64_t count, void* to) {
  for (int64_t i = 0; i < count; i += kLanes) {
    store(static_cast<T*>(to) + i, load(from + i, count - i), count - i);
  }
}

template <class T>
void norm_row(const float* x, const void* weight, int64_t width, float eps, float* to) {
  Floats squares{};
  for (int64_t i = 0; i < width; i += kLanes) {
    const Floats values = load(x + i, width - i);
    squares += values * values;
  }
  const float mean = sum(squares) / static_cast<float>(width);
  const float scale = 1.0f / __builtin_sqrtf(mean + eps);
  for (int64_t i = 0; i < width; i += kLanes) {
    const Floats weights = load(static_cast<const T*>(weight) + i, width - i);
    store(to + i, load(x + i, width - i) * scale * weights, width - i);
  }
}

inline void rotate_head(float* x, const float* cosines, const float* sines, int64_t head_dim) {
  const int64_t half = head_dim / 2;
  for (int64_t i = 0; i < half; i += kLanes) {
    const int64_t count = half - i;
    const Floats first = load(x + i, count), second = load(x + half + i, count);
    const Floats cosine = load(cosines + i, count), sine = load(sines + i, count);
    store(x + i, first * cosine - second * sine, count);
    store(x + half + i, second * cosine + first * sine, count);
  }
}

inline void gate_values(float* gates, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats gate = load(gates + i, count - i);
    const Floats value = gate / (1.0f + exponential(-gate)) * load(x + i, count - i);
    store(gates + i, value, count - i);
  }
}

inline void add_scaled(float* to, const float* x, float scale, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    store(to + i, load(to + i, count - i) + scale * load(x + i, count - i), count - i);
  }
}

inline bool is_above(float a, float b) { return a > b || (a != a && b == b); }

inline int64_t first_largest(const float* x, int64_t count) {
  Floats most = all(x[0]);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats values = load(x + i);
    most = (values > most) | (values != values) ? values : most;
  }
  float largest = most[0];
  for (int64_t lane = 1; lane < kLanes; ++lane) {
    if (is_above(most[lane], largest)) largest = most[lane];
  }
  for (; i < count; ++i) {
    if (is_above(x[i], largest)) largest = x[i];
  }
  for (i = 0; i + 1 < count; ++i) {
    if (x[i] == largest || (largest != largest && x[i] != x[i])) break;
  }
  return i;
}

/// Some of the keys that a token sees: rows of their key head.
template <class T>
struct Chunk {
  const T* rows[kChunk];
  int64_t count;
};

template <class T>
Chunk<T> chunk_of(const TokenAttention& attention, const void* places, int64_t begin) {
  const int64_t total = attention.num_consecutive + attention.num_others;
  Chunk<T> chunk;
  chunk.count = least(kChunk, total - begin);
  for (int64_t i = 0; i < chunk.count; ++i) {
    const int64_t index = begin + i;
    const int64_t place = index < attention.num_consecutive
                              ? attention.first + index
                              : attention.others[index - attention.num_consecutive];
    chunk.rows[i] = static_cast<const T*>(places) + place * attention.head_dim;
  }
  for (int64_t i = chunk.count; i % kLanes != 0; ++i) chunk.rows[i] = chunk.rows[0];
  return chunk;
}

/// [kHeads,kChunk], beyond the last key anything: kHeads heads, so that a key is widened once.
template <class T, int kHeads>
void score(const float* queries, const Chunk<T>& keys, int64_t head_dim, float* scores) {
  constexpr int64_t kKeys = kLanes / kHeads;
  for (int64_t i = 0; i < keys.count; i += kKeys) {
    Floats sums[kLanes] = {};
    for (int64_t d = 0; d < head_dim; d += kLanes) {
      const int64_t count = head_dim - d;
      Floats values[kHeads];
      for (int h = 0; h < kHeads; ++h) values[h] = load(queries + h * head_dim + d, count);
#pragma GCC unroll 16
      for (int k = 0; k < kKeys; ++k) {
        const T* row = keys.rows[i + k] + d;
        const Floats key = count >= kLanes ? load(row) : load(row, count);
#pragma GCC unroll 2
        for (int h = 0; h < kHeads; ++h) sums[h * kKeys + k] += values[h] * key;
      }
    }
    float found[kLanes];
    store(found, sums_of(sums));
    for (int h = 0; h < kHeads; ++h) {
      __builtin_memcpy(scores + h * kChunk + i, found + h * kKeys, kKeys * sizeof(float));
    }
  }
}

/// kParts vectors from dimension `d` on of what kHeads heads [kHeads,head_dim] have gathered.
template <class T, int kHeads, int kParts>
void gather(const float* weights, const Chunk<T>& values, int64_t d, int64_t head_dim,
            const float* rescale, float* to) {
  Floats sums[kHeads][kParts];
#pragma GCC unroll 2
  for (int h = 0; h < kHeads; ++h) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      const int64_t at = d + p * kLanes;
      sums[h][p] = load(to + h * head_dim + at, head_dim - at) * rescale[h];
    }
  }
  for (int64_t i = 0; i < values.count; ++i) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      const int64_t at = d + p * kLanes;
      const Floats value = load(values.rows[i] + at, head_dim - at);
#pragma GCC unroll 2
      for (int h = 0; h < kHeads; ++h) sums[h][p] += weights[h * kChunk + i] * value;
    }
  }
#pragma GCC unroll 2
  for (int h = 0; h < kHeads; ++h) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      const int64_t at = d + p * kLanes;
      store(to + h * head_dim + at, sums[h][p], head_dim - at);
    }
  }
}

/// Softmax as it goes: what was gathered so far is rescaled where a larger score comes.
struct HeadState {
  float largest, total;
};

/// Scores of a head into their powers; returns what is left of what was gathered before.
inline float weigh(float* scores, int64_t count, float scale, HeadState& state) {
  for (int64_t i = count; i % kLanes != 0; ++i) scores[i] = -1e30f;
  Floats most = all(state.largest);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats scaled = load(scores + i) * scale;
    store(scores + i, scaled);
    most = scaled > most ? scaled : most;
  }
  float largest = most[0];
  for (int64_t i = 1; i < kLanes; ++i) largest = most[i] > largest ? most[i] : largest;
  Floats sums{};
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats powers = exponential(load(scores + i) - largest);
    store(scores + i, powers);
    sums += powers;
  }
  const float rescale = exponential(all(state.largest - largest))[0];
  state = {largest, state.total * rescale + sum(sums)};
  return rescale;
}

template <class T, int kHeads>
void attend_chunk(const TokenAttention& attention, const Chunk<T>& keys, const Chunk<T>& values,
                  int64_t head, HeadState* states) {
  const int64_t head_dim = attention.head_dim;
  alignas(64) float weights[kHeads * kChunk];
  float rescale[kHeads];
  score<T, kHeads>(attention.queries + head * head_dim, keys, head_dim, weights);
  for (int h = 0; h < kHeads; ++h) {
    rescale[h] = weigh(weights + h * kChunk, keys.count, attention.scale, states[head + h]);
  }
  float* to = attention.to + head * head_dim;
  int64_t d = 0;
  for (; d + 4 * kLanes <= head_dim; d += 4 * kLanes) {
    gather<T, kHeads, 4>(weights, values, d, head_dim, rescale, to);
  }
  for (; d < head_dim; d += kLanes) {
    gather<T, kHeads, 1>(weights, values, d, head_dim, rescale, to);
  }
}

template <class T>
void attend_some(const TokenAttention& attention) {
  HeadState states[kMaxHeads];
  for (int64_t head = 0; head < attention.heads; ++head) states[head] = {-1e30f, 0.0f};
  __builtin_memset(attention.to, 0,
                   static_cast<size_t>(attention.heads * attention.head_dim) * sizeof(float));
  const int64_t total = attention.num_consecutive + attention.num_others;
  for (int64_t begin = 0; begin < total; begin += kChunk) {
    const Chunk<T> keys = chunk_of<T>(attention, attention.keys, begin);
    const Chunk<T> values = chunk_of<T>(attention, attention.values, begin);
    int64_t head = 0;
    for (; head + 2 <= attention.heads; head += 2) {
      attend_chunk<T, 2>(attention, keys, values, head, states);
    }
    if (head < attention.heads) attend_chunk<T, 1>(attention, keys, values, head, states);
  }
  for (int64_t head = 0; head < attention.heads; ++head) {
    float* to = attention.to + head * attention.head_dim;
    const float scale = 1.0f / states[head].total;
    for (int64_t d = 0; d < attention.head_dim; d += kLanes) {
      store(to + d, load(to + d, attention.head_dim - d) * scale, attention.head_dim - d);
    }
  }
}

template <class T>
void attend(const TokenAttention& attention) {
  for (int64_t head = 0; head < attention.heads; head += kMaxHeads) {
    TokenAttention some = attention;
    some.queries += head * attention.head_dim;
    some.to += head * attention.head_dim;
    some.heads = least(kMaxHeads, attention.heads - head);
    attend_some<T>(some);
  }
}

template <class T>
constexpr TokenKernels token_kernels() {
  return {.load = load_row<T>,
          .store = store_row<T>,
          .norm = norm_row<T>,
          .rotate = rotate_head,
          .attend = attend<T>,
          .gate = gate_values,
          .add = add_scaled,
          .argmax = first_largest};
}
constexpr TokenKernelSet token_kernel_set() {
  return {.float32 = token_kernels<float>(), .bfloat16 = token_kernels<uint16_t>()};
}

}  // namespace
}  // namespace predgen

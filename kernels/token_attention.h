// Attention of one token over the keys that it sees: TokenKernels::attend.
#pragma once

#include "kernels/token_kernels.h"
#include "kernels/token_vectors.h"

namespace predgen {
namespace {

constexpr int64_t kChunk = 64;     // keys whose scores are computed together
constexpr int64_t kMaxHeads = 16;  // heads whose sums are computed together

/// Some of the keys that a token sees: rows of their key head.
template <class T>
struct Chunk {
  const T* rows[kChunk];
  int64_t count;
};

template <class T>
Chunk<T> chunk_of(const TokenAttention& attention, const void* KeyPiece::*side, int64_t begin) {
  const KeyPiece* piece = attention.pieces;
  const KeyPiece* const last = piece + attention.num_pieces - 1;
  const int64_t total = attention.num_consecutive + attention.num_others;
  Chunk<T> chunk;
  chunk.count = least(kChunk, total - begin);
  for (int64_t i = 0; i < chunk.count; ++i) {
    const int64_t index = begin + i;
    const int64_t place = index < attention.num_consecutive
                              ? attention.first + index
                              : attention.others[index - attention.num_consecutive];
    while (place < piece->begin) --piece;
    while (piece != last && place >= piece[1].begin) ++piece;
    chunk.rows[i] =
        static_cast<const T*>(piece->*side) + (place - piece->begin) * attention.head_dim;
  }
  for (int64_t i = chunk.count; i % kLanes != 0; ++i) chunk.rows[i] = chunk.rows[0];
  return chunk;
}

/// Scores [kHeads,kChunk], undefined beyond the last key: kHeads heads, to widen each key once.
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

/// kParts vectors, from dimension `d` on, of the sums of kHeads heads [kHeads,head_dim].
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

/// Online softmax: earlier sums are rescaled when a larger score comes.
struct HeadState {
  float largest, total;
};

/// Exponentiates a head's scores; returns the factor that rescales the earlier sums.
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
  for (int64_t head = 0; head < attention.heads; ++head) {
    states[head] = attention.sinks ? HeadState{attention.sinks[head], 1.0f} : HeadState{-1e30f, 0};
  }
  __builtin_memset(attention.to, 0,
                   static_cast<size_t>(attention.heads * attention.head_dim) * sizeof(float));
  const int64_t total = attention.num_consecutive + attention.num_others;
  for (int64_t begin = 0; begin < total; begin += kChunk) {
    const Chunk<T> keys = chunk_of<T>(attention, &KeyPiece::keys, begin);
    const Chunk<T> values = chunk_of<T>(attention, &KeyPiece::values, begin);
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
    if (some.sinks) some.sinks += head;
    some.heads = least(kMaxHeads, attention.heads - head);
    attend_some<T>(some);
  }
}

}  // namespace
}  // namespace predgen

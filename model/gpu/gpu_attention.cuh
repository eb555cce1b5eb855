// What a token's heads gather from the keys that it sees.
#pragma once

#include "model/gpu/gpu_kernels.h"
#include "model/gpu/gpu_values.cuh"

namespace predgen {
namespace {

constexpr float kNothing = -1e30f;  // a score of no key

/// How many of the keys that a token sees, the first ones, a window hides.
__device__ inline int num_hidden(const GpuToken& token, int window) {
  const int total = token.num_consecutive + __popcll(token.others);
  return window > 0 && total > window ? total - window : 0;
}

__device__ inline bool sees(const GpuToken& token, int hidden, int place) {
  if (place < token.num_consecutive) return place >= hidden;
  const int bit = place - token.num_consecutive;
  if (bit >= 64 || (token.others >> bit & 1) == 0) return false;
  const uint64_t before = token.others & ((uint64_t{1} << bit) - 1);
  return token.num_consecutive + __popcll(before) >= hidden;
}

/// Chunks that hold keys which a token sees: [first, last].
struct ChunkRange {
  int first, last;
};
template <int kChunk>
__device__ ChunkRange chunks_of(const GpuToken& token, int hidden) {
  const int first = hidden < token.num_consecutive ? hidden : token.num_consecutive;
  return {first / kChunk, token.place / kChunk};
}

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr int kChunk = kGpuChunkFloat32;
  static constexpr int kPad = 1;  // so that lanes read different banks
};
template <>
struct TypeOf<Bfloat16> {
  static constexpr int kChunk = kGpuChunkBfloat16;
  static constexpr int kPad = 2;
};

constexpr int kWarps = 4;
constexpr int kAttendThreads = kWarps * kLanes;
constexpr int kTogether = 4;  // rows for which a warp reads a key once

/// [count,D] of a cache into rows of D + kPad.
template <class T>
__device__ void fetch(const void* from, int count, int D, T* to) {
  constexpr int kValues = 16 / sizeof(T);
  const auto* vectors = reinterpret_cast<const Vector<T>*>(from);
  const int each = D / kValues;
  for (int i = static_cast<int>(threadIdx.x); i < count * each; i += kAttendThreads) {
    const Vector<T> vector = vectors[i];
    T* row = to + i / each * (D + TypeOf<T>::kPad) + i % each * kValues;
#pragma unroll
    for (int j = 0; j < kValues; ++j) row[j] = vector.values[j];
  }
}

/// A block for each chunk of places, key head and tile of tokens: scores, their softmax within the
/// chunk, and the values' sums.
template <class T>
__global__ void __launch_bounds__(kAttendThreads) attend_kernel(GpuAttention a) {
  constexpr int kChunk = TypeOf<T>::kChunk;
  alignas(16) __shared__ T places[kChunk * (kMaxGpuHeadDim + TypeOf<T>::kPad)];
  __shared__ float queries[kMaxGpuRows * kMaxGpuHeadDim];
  __shared__ float weights[kMaxGpuRows * kChunk];
  const int chunk = static_cast<int>(blockIdx.x), key_head = static_cast<int>(blockIdx.y);
  const int first = static_cast<int>(blockIdx.z) * a.tile;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanes, warp = thread / kLanes;
  const int D = a.head_dim, shared = a.num_heads / a.num_key_heads;
  // The whole block leaves where no token of the tile sees anything of the chunk.
  int count = 0, last = -1;
  bool is_seen = false;
  for (; count < a.tile && first + count < a.num_tokens; ++count) {
    const GpuToken token = a.tokens[first + count];
    if (token.step < 0) break;
    const ChunkRange range = chunks_of<kChunk>(token, num_hidden(token, a.window));
    is_seen = is_seen || (range.first <= chunk && chunk <= range.last);
    last = token.place;  // they ascend
  }
  if (!is_seen) return;
  const int begin = chunk * kChunk, num_rows = count * shared;
  const int num_places = last + 1 - begin < kChunk ? last + 1 - begin : kChunk;
  const GpuCache cache = a.caches[a.tokens[first].step * a.cache_stride];
  const int64_t place = (key_head * cache.head_stride + begin) * D;

  for (int i = thread; i < num_rows * D; i += kAttendThreads) {
    const int row = i / D;
    const int64_t token = first + row / shared, head = key_head * shared + row % shared;
    queries[i] = a.queries[(token * a.num_heads + head) * D + i % D] * a.scale;
  }
  fetch(static_cast<const T*>(cache.keys) + place, num_places, D, places);
  __syncthreads();

  const int stride = D + TypeOf<T>::kPad;
  for (int base = warp; base < num_rows; base += kWarps * kTogether) {
    const auto row_of = [&](int i) { return base + i * kWarps; };
    for (int key = lane; key < kChunk; key += kLanes) {
      float scores[kTogether] = {};
      if (key < num_places) {
        for (int d = 0; d < D; d += 2) {
          const Pair pair = load_pair(places + key * stride + d);
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
            const float* query = queries + (row_of(i) < num_rows ? row_of(i) : base) * D + d;
            scores[i] = fmaf(query[0], pair.first, fmaf(query[1], pair.second, scores[i]));
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        if (row_of(i) >= num_rows) continue;
        const GpuToken token = a.tokens[first + row_of(i) / shared];
        const bool is_visible =
            key < num_places && sees(token, num_hidden(token, a.window), begin + key);
        weights[row_of(i) * kChunk + key] = is_visible ? scores[i] : kNothing;
      }
    }
    for (int i = 0; i < kTogether && row_of(i) < num_rows; ++i) {
      float* row = weights + row_of(i) * kChunk;
      float largest = kNothing;
      for (int key = lane; key < kChunk; key += kLanes) largest = fmaxf(largest, row[key]);
      largest = warp_max(largest);
      float total = 0.0f;
      for (int key = lane; key < kChunk; key += kLanes) {
        const float weight = row[key] > kNothing ? expf(row[key] - largest) : 0.0f;
        row[key] = weight;
        total += weight;
      }
      total = warp_sum(total);
      if (lane == 0) {
        const int64_t token = first + row_of(i) / shared;
        const int64_t head = key_head * shared + row_of(i) % shared;
        float* part = a.parts + ((token * a.num_heads + head) * a.num_chunks + chunk) * (D + 2);
        part[D] = largest;
        part[D + 1] = total;
      }
    }
  }
  __syncthreads();
  fetch(static_cast<const T*>(cache.values) + place, num_places, D, places);
  __syncthreads();

  constexpr int kPairs = kMaxGpuHeadDim / (2 * kLanes);  // of dimensions, that a lane sums
  for (int base = warp; base < num_rows; base += kWarps * kTogether) {
    const auto row_of = [&](int i) { return base + i * kWarps; };
    Pair sums[kTogether][kPairs] = {};
    for (int key = 0; key < num_places; ++key) {
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        const int d = 2 * (lane + p * kLanes);
        if (d >= D) continue;
        const Pair pair = load_pair(places + key * stride + d);
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const float weight = weights[(row_of(i) < num_rows ? row_of(i) : base) * kChunk + key];
          sums[i][p].first = fmaf(weight, pair.first, sums[i][p].first);
          sums[i][p].second = fmaf(weight, pair.second, sums[i][p].second);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (row_of(i) >= num_rows) continue;
      const int64_t token = first + row_of(i) / shared;
      const int64_t head = key_head * shared + row_of(i) % shared;
      float* part = a.parts + ((token * a.num_heads + head) * a.num_chunks + chunk) * (D + 2);
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        const int d = 2 * (lane + p * kLanes);
        if (d >= D) continue;
        part[d] = sums[i][p].first;
        part[d + 1] = sums[i][p].second;
      }
    }
  }
}

/// A block for each head of each token: its chunks in their order.
template <class T>
__global__ void __launch_bounds__(kMaxGpuHeadDim) merge_kernel(GpuAttention a) {
  constexpr int kChunk = TypeOf<T>::kChunk;
  const GpuToken token = a.tokens[blockIdx.y];
  const int d = static_cast<int>(threadIdx.x), D = a.head_dim;
  if (d >= D) return;
  const int64_t head = static_cast<int64_t>(blockIdx.y) * a.num_heads + blockIdx.x;
  T* to = static_cast<T*>(a.x) + head * D + d;
  if (token.step < 0) {
    *to = narrow<T>(0.0f);  // products of what fills up stay finite
    return;
  }
  const ChunkRange range = chunks_of<kChunk>(token, num_hidden(token, a.window));
  const float* parts = a.parts + head * a.num_chunks * (D + 2);
  float largest = kNothing;
  for (int chunk = range.first; chunk <= range.last; ++chunk) {
    largest = fmaxf(largest, parts[chunk * (D + 2) + D]);
  }
  float sum = 0.0f, total = 0.0f;
  for (int chunk = range.first; chunk <= range.last; ++chunk) {
    const float* part = parts + chunk * (D + 2);
    const float weight = expf(part[D] - largest);
    sum = fmaf(weight, part[d], sum);
    total = fmaf(weight, part[D + 1], total);
  }
  *to = narrow<T>(sum / total);
}
}  // namespace
}  // namespace predgen

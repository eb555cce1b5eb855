// Attention of a token's heads over the keys that it sees.
#pragma once

#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/gpu_values.cuh"

namespace predgen {
namespace {

constexpr float kNothing = -1e30f;  // the score of no key

__device__ inline int num_seen(const GpuToken& token) {
  return token.num_consecutive + __popcll(token.others[0]) + __popcll(token.others[1]);
}

/// How many of the first keys that a token sees are hidden by a window.
__device__ inline int num_hidden(const GpuToken& token, int window) {
  const int total = num_seen(token);
  return window > 0 && total > window ? total - window : 0;
}

__device__ inline bool sees(const GpuToken& token, int hidden, int place) {
  if (place < token.num_consecutive) return place >= hidden;
  const int bit = place - token.num_consecutive;
  if (bit >= kMaxGpuTokens) return false;
  const uint64_t word = bit < 64 ? token.others[0] : token.others[1];
  if ((word >> bit % 64 & 1) == 0) return false;
  const int before =
      __popcll(word & ((uint64_t{1} << bit % 64) - 1)) + (bit < 64 ? 0 : __popcll(token.others[0]));
  return token.num_consecutive + before >= hidden;
}

/// The place of a key, given its index among those that the token sees.
__device__ inline int place_of(const GpuToken& token, int key) {
  int others = key - token.num_consecutive;  // before it
  if (others < 0) return key;
  const int in_first = __popcll(token.others[0]);
  const bool is_first = others < in_first;
  uint64_t word = is_first ? token.others[0] : token.others[1];
  for (others -= is_first ? 0 : in_first; others > 0; --others) word &= word - 1;
  return token.num_consecutive + (is_first ? 0 : 64) + __popcll((word & (~word + 1)) - 1);
}

/// Chunks that hold keys seen by a token: [first, last].
struct ChunkRange {
  int first, last;
};
__device__ inline ChunkRange chunks_of(const GpuToken& token, int window, bool by_key) {
  const int hidden = num_hidden(token, window);
  if (by_key) return {hidden / kGpuChunk, (num_seen(token) - 1) / kGpuChunk};
  const int first = hidden < token.num_consecutive ? hidden : token.num_consecutive;
  return {first / kGpuChunk, token.place / kGpuChunk};
}

/// Padding after a key in shared memory: lanes that read 16 bytes of a key each then read different
/// banks.
template <class T>
constexpr int kPad = 16 / sizeof(T);

constexpr int kWarps = 4;
constexpr int kAttendThreads = kWarps * kLanes;
constexpr int kTogether = 4;  // rows per read of a key by a warp

/// A thread's share of a chunk of keys or values: first read from the cache, all at the same time,
/// then written to shared memory.
template <class T>
struct Share {
  static constexpr int kValues = 16 / sizeof(T);
  static constexpr int kMost = kGpuChunk * kMaxGpuHeadDim / kValues / kAttendThreads;

  /// Reads the `count` places place_of(0), place_of(1), .. of a cache [*,D].
  template <class PlaceOf>
  __device__ void read(const T* from, int count, int D, const PlaceOf& place_of) {
    const auto* all = reinterpret_cast<const Vector<T>*>(from);
    const int each = D / kValues;
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      const int i = static_cast<int>(threadIdx.x) + k * kAttendThreads;
      if (i >= count * each) break;
      vectors[k] = all[static_cast<int64_t>(place_of(i / each)) * each + i % each];
    }
  }
  /// Writes them to rows of D + kPad.
  __device__ void write(int count, int D, T* to) const {
    const int each = D / kValues;
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      const int i = static_cast<int>(threadIdx.x) + k * kAttendThreads;
      if (i >= count * each) break;
      *reinterpret_cast<Vector<T>*>(to + i / each * (D + kPad<T>)+i % each * kValues) = vectors[k];
    }
  }

  Vector<T> vectors[kMost];
};

constexpr int kMerged = 2;  // heads that a warp merges together

/// A warp merges the parts of `num_heads` of a token's heads from `head` on, in the order of their
/// first chunks.
template <class T>
__device__ void merge_parts(const GpuAttention& a, int64_t token_index, int64_t head,
                            int num_heads) {
  const GpuToken token = a.tokens[token_index];
  const ChunkRange range = chunks_of(token, a.window, a.tile == 1);
  const int num_chunks = range.last - range.first + 1;
  const int count = num_chunks < a.num_splits ? num_chunks : a.num_splits;
  const int first = range.first % a.num_splits;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, D = a.head_dim;
  const auto row_of = [&](int i) { return token_index * a.num_heads + head + i; };
  const auto part_of = [&](int i, int index) {
    const int split = first + index < a.num_splits ? first + index : first + index - a.num_splits;
    return a.parts + (row_of(i < num_heads ? i : 0) * a.num_splits + split) * (D + 2);
  };
  constexpr int kValues = kMaxGpuHeadDim / kLanes;
  float largest[kMerged], sums[kMerged][kValues] = {}, totals[kMerged] = {};
#pragma unroll
  for (int i = 0; i < kMerged; ++i) {
    largest[i] = kNothing;
    for (int k = lane; k < count; k += kLanes) largest[i] = fmaxf(largest[i], part_of(i, k)[D]);
    largest[i] = warp_max(largest[i]);
  }
#pragma unroll 4
  for (int k = 0; k < count; ++k) {
#pragma unroll
    for (int i = 0; i < kMerged; ++i) {
      const float* part = part_of(i, k);
      const float weight = expf(part[D] - largest[i]);
#pragma unroll
      for (int v = 0; v < kValues; ++v) {
        const int d = lane + v * kLanes;
        if (d < D) sums[i][v] = fmaf(weight, part[d], sums[i][v]);
      }
      totals[i] = fmaf(weight, part[D + 1], totals[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kMerged; ++i) {
#pragma unroll
    for (int v = 0; v < kValues; ++v) {
      const int d = lane + v * kLanes;
      if (i < num_heads && d < D) {
        static_cast<T*>(a.x)[row_of(i) * D + d] = narrow<T>(sums[i][v] / totals[i]);
      }
    }
  }
}

/// Zeros for a tile's tokens of padding, so that products of them stay finite.
template <class T>
__device__ void clear_padding(const GpuAttention& a, int first, int key_head) {
  const int width = a.num_heads / a.num_key_heads * a.head_dim;
  for (int token = first; token < first + a.tile && token < a.num_tokens; ++token) {
    if (a.tokens[token].step >= 0) continue;
    T* x =
        static_cast<T*>(a.x) + (static_cast<int64_t>(token) * a.num_key_heads + key_head) * width;
    for (int i = static_cast<int>(threadIdx.x); i < width; i += kAttendThreads) {
      x[i] = narrow<T>(0.0f);
    }
  }
}

/// One block per split, key head and tile of tokens: scores, their softmax within the split, and
/// the weighted sums of values. The last block of a key head and tile merges the splits.
template <class T>
__global__ void __launch_bounds__(kAttendThreads, sizeof(T) == 2 ? 4 : 3)
    attend_kernel(GpuAttention a) {
  if (static_cast<int>(blockIdx.z) == a.num_tiles) {
    const int block = static_cast<int>(blockIdx.y) * a.num_splits + static_cast<int>(blockIdx.x);
    read_ahead(a.ahead, block, a.num_splits * a.num_key_heads, kAttendThreads);
    return;
  }
  alignas(16) __shared__ T places[kGpuChunk * (kMaxGpuHeadDim + kPad<T>)];
  alignas(16) __shared__ float queries[kMaxGpuRows * kMaxGpuHeadDim];
  alignas(16) __shared__ float weights[kMaxGpuRows * kGpuChunk];
  // Maximum and total of the chunks so far, and the factor that rescales their sums.
  __shared__ float largest_of[kMaxGpuRows], total_of[kMaxGpuRows], factor_of[kMaxGpuRows];
  const int split = static_cast<int>(blockIdx.x), key_head = static_cast<int>(blockIdx.y);
  const int tile = static_cast<int>(blockIdx.z), first = a.tiles ? a.tiles[tile] : tile * a.tile;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kLanes, warp = thread / kLanes;
  const int D = a.head_dim, shared = a.num_heads / a.num_key_heads;
  const bool by_key = a.tile == 1;
  const GpuToken only = a.tokens[first];
  if (split == 0) clear_padding<T>(a, first, key_head);
  if (only.step < 0) return;
  int count = 0, begin_chunk = 0, end_chunk = 0, end = 0;
  for (; count < a.tile && first + count < a.num_tokens; ++count) {
    const GpuToken token = a.tokens[first + count];
    if (token.step != only.step) break;
    const ChunkRange range = chunks_of(token, a.window, by_key);
    if (count == 0 || range.first < begin_chunk) begin_chunk = range.first;
    end_chunk = range.last + 1;  // they ascend
    end = by_key ? num_seen(token) : token.place + 1;
  }
  const int num_chunks = end_chunk - begin_chunk;
  begin_chunk += (split + a.num_splits - begin_chunk % a.num_splits) % a.num_splits;
  if (begin_chunk >= end_chunk) return;  // the whole block
  const int num_rows = count * shared;
  const GpuCache cache = a.caches[only.step * a.cache_stride];
  const T* keys = static_cast<const T*>(cache.keys) + key_head * cache.head_stride * D;
  const T* values = static_cast<const T*>(cache.values) + key_head * cache.head_stride * D;
  const auto part_of = [&](int row) {
    const int64_t token = first + row / shared, head = key_head * shared + row % shared;
    return a.parts + ((token * a.num_heads + head) * a.num_splits + split) * (D + 2);
  };

  for (int i = thread; i < num_rows * D; i += kAttendThreads) {
    const int row = i / D;
    const int64_t token = first + row / shared, head = key_head * shared + row % shared;
    queries[i] = a.queries[(token * a.num_heads + head) * D + i % D] * a.scale;
  }
  const int stride = D + kPad<T>;
  constexpr bool kReadsAhead =
      sizeof(T) == 2;  // values with keys; float32 takes twice the registers
  for (int chunk = begin_chunk; chunk < end_chunk; chunk += a.num_splits) {
    const bool is_first = chunk == begin_chunk;
    const int begin = chunk * kGpuChunk;
    const int num_places = end - begin < kGpuChunk ? end - begin : kGpuChunk;
    const auto place = [&](int i) { return by_key ? place_of(only, begin + i) : begin + i; };
    Share<T> some_keys, some_values;
    some_keys.read(keys, num_places, D, place);
    if (kReadsAhead) some_values.read(values, num_places, D, place);
    __syncthreads();  // the previous chunk has been read
    some_keys.write(num_places, D, places);
    __syncthreads();

    for (int base = warp; base < num_rows; base += kWarps * kTogether) {
      const auto row_of = [&](int i) { return base + i * kWarps; };
      for (int key = lane; key < kGpuChunk; key += kLanes) {
        float scores[kTogether] = {};
        if (key < num_places) {
          constexpr int kValues = Share<T>::kValues;
#pragma unroll 1
          for (int d = 0; d < D; d += kValues) {
            const auto part = *reinterpret_cast<const Vector<T>*>(places + key * stride + d);
#pragma unroll
            for (int i = 0; i < kTogether; ++i) {
              const float* query = queries + (row_of(i) < num_rows ? row_of(i) : base) * D + d;
#pragma unroll
              for (int four = 0; four < kValues; four += 4) {
                const auto q = *reinterpret_cast<const Vector<float>*>(query + four);
#pragma unroll
                for (int j = 0; j < 4; j += 2) {
                  scores[i] =
                      fmaf(q.values[j], widen(part.values[four + j]),
                           fmaf(q.values[j + 1], widen(part.values[four + j + 1]), scores[i]));
                }
              }
            }
          }
        }
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          if (row_of(i) >= num_rows) continue;
          const GpuToken token = a.tokens[first + row_of(i) / shared];
          const int hidden = num_hidden(token, a.window);
          const bool is_visible = key < num_places && (by_key ? begin + key >= hidden
                                                              : sees(token, hidden, begin + key));
          weights[row_of(i) * kGpuChunk + key] = is_visible ? scores[i] : kNothing;
        }
      }
      for (int i = 0; i < kTogether && row_of(i) < num_rows; ++i) {
        float* row = weights + row_of(i) * kGpuChunk;
        const float before = is_first ? kNothing : part_of(row_of(i))[D];
        float largest = before;
        for (int key = lane; key < kGpuChunk; key += kLanes) largest = fmaxf(largest, row[key]);
        largest = warp_max(largest);
        float total = 0.0f;
        for (int key = lane; key < kGpuChunk; key += kLanes) {
          const float weight = row[key] > kNothing ? expf(row[key] - largest) : 0.0f;
          row[key] = weight;
          total += weight;
        }
        total = warp_sum(total);
        if (lane == 0) {
          largest_of[row_of(i)] = largest;
          total_of[row_of(i)] = total;
          factor_of[row_of(i)] = expf(before - largest);
        }
      }
    }
    __syncthreads();
    if (!kReadsAhead) some_values.read(values, num_places, D, place);
    some_values.write(num_places, D, places);
    __syncthreads();

    constexpr int kPairs = kMaxGpuHeadDim / (2 * kLanes);  // pairs of dimensions summed by a lane
    for (int base = warp; base < num_rows; base += kWarps * kTogether) {
      const auto row_of = [&](int i) { return base + i * kWarps; };
      Pair sums[kTogether][kPairs] = {};
#pragma unroll 1
      for (int four = 0; four < num_places; four += 4) {
        Vector<float> of_keys[kTogether];
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const int row = row_of(i) < num_rows ? row_of(i) : base;
          of_keys[i] = *reinterpret_cast<const Vector<float>*>(weights + row * kGpuChunk + four);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (four + k >= num_places) break;
#pragma unroll
          for (int p = 0; p < kPairs; ++p) {
            const int d = 2 * (lane + p * kLanes);
            if (d >= D) continue;
            const Pair pair = load_pair(places + (four + k) * stride + d);
#pragma unroll
            for (int i = 0; i < kTogether; ++i) {
              const float weight = of_keys[i].values[k];
              sums[i][p].first = fmaf(weight, pair.first, sums[i][p].first);
              sums[i][p].second = fmaf(weight, pair.second, sums[i][p].second);
            }
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        if (row_of(i) >= num_rows) continue;
        float* part = part_of(row_of(i));
        const float factor = factor_of[row_of(i)];
        const auto add = [&](int d, float sum) {
          part[d] = is_first ? sum : fmaf(part[d], factor, sum);
        };
#pragma unroll
        for (int p = 0; p < kPairs; ++p) {
          const int d = 2 * (lane + p * kLanes);
          if (d >= D) continue;
          add(d, sums[i][p].first);
          add(d + 1, sums[i][p].second);
        }
        if (lane > 0) continue;
        part[D] = largest_of[row_of(i)];
        add(D + 1, total_of[row_of(i)]);
      }
    }
  }
  const int num_working = num_chunks < a.num_splits ? num_chunks : a.num_splits;
  if (!is_last_to_arrive(a.counters + tile * a.num_key_heads + key_head, num_working)) return;
  const int turns = (shared + kMerged - 1) / kMerged;  // of a token
  for (int i = warp; i < count * turns; i += kWarps) {
    const int head = i % turns * kMerged;
    const int left = shared - head;
    merge_parts<T>(a, first + i / turns, key_head * shared + head, left < kMerged ? left : kMerged);
  }
}
}  // namespace
}  // namespace predgen

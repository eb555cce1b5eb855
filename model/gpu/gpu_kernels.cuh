// The kernels of gpu_kernels.h. Included where launch(kernel, grid, threads, stream, arguments) is,
// and CUDA's own words: by gpu_kernels_cuda.cu, and by the tests, which give them a meaning on CPUs.
#pragma once

#include "model/gpu/gpu_kernels.h"

namespace predgen {
namespace {

constexpr int kLanes = 32;
constexpr float kNothing = -1e30f;  // a score of no key

struct Bfloat16 {
  uint16_t bits;
};

__device__ inline float widen(float value) { return value; }
__device__ inline float widen(Bfloat16 value) {
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

template <class T>
__device__ T narrow(float value);
template <>
__device__ inline float narrow<float>(float value) {
  return value;
}
/// To the nearest, the even one of two; NaN stays.
template <>
__device__ inline Bfloat16 narrow<Bfloat16>(float value) {
  const uint32_t bits = __float_as_uint(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

/// Two values at an even index.
struct Pair {
  float first, second;
};
__device__ inline Pair load_pair(const float* from) { return {from[0], from[1]}; }
__device__ inline Pair load_pair(const Bfloat16* from) {
  const uint32_t bits = *reinterpret_cast<const uint32_t*>(from);
  return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000)};
}

__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}
__device__ inline float warp_max(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
  }
  return value;
}

/// Of all threads of a block, in one order.
template <int kThreads>
__device__ float block_sum(float value) {
  __shared__ float sums[kThreads / kLanes];
  value = warp_sum(value);
  __syncthreads();  // the sum before this one has been read
  if (threadIdx.x % kLanes == 0) sums[threadIdx.x / kLanes] = value;
  __syncthreads();
  float total = 0.0f;
#pragma unroll
  for (int warp = 0; warp < kThreads / kLanes; ++warp) total += sums[warp];
  return total;
}

constexpr int kRowThreads = 256;

template <class T>
__global__ void __launch_bounds__(kRowThreads) embed_kernel(GpuEmbedding a) {
  const GpuToken token = a.tokens[blockIdx.x];
  const int64_t row = blockIdx.x;
  const T* from = static_cast<const T*>(a.table) + static_cast<int64_t>(token.id) * a.width;
  for (int i = threadIdx.x; i < a.width; i += kRowThreads) {
    a.hidden[row * a.width + i] = widen(from[i]);
  }
  const int half = a.head_dim / 2;
  for (int i = threadIdx.x; i < half; i += kRowThreads) {
    const float angle = static_cast<float>(token.position) * a.frequencies[i];
    a.cosines[row * half + i] = cosf(angle) * a.factor;
    a.sines[row * half + i] = sinf(angle) * a.factor;
  }
}

template <class T>
__global__ void __launch_bounds__(kRowThreads) norm_kernel(GpuNorm a) {
  const int64_t row = a.rows ? a.rows[blockIdx.x] : static_cast<int64_t>(blockIdx.x);
  float* hidden = a.hidden + row * a.width;
  const T* out = a.out ? static_cast<const T*>(a.out) + row * a.width : nullptr;
  const T* after = static_cast<const T*>(a.after);
  const T* before = static_cast<const T*>(a.before);
  T* x = static_cast<T*>(a.x) + static_cast<int64_t>(blockIdx.x) * a.width;
  const auto scale_of = [&](float squares) {
    return 1.0f / sqrtf(block_sum<kRowThreads>(squares) / static_cast<float>(a.width) + a.eps);
  };
  float out_scale = 1.0f;
  if (after) {
    float squares = 0.0f;
    for (int i = threadIdx.x; i < a.width; i += kRowThreads) {
      squares = fmaf(widen(out[i]), widen(out[i]), squares);
    }
    out_scale = scale_of(squares);
  }
  const auto sum = [&](int i) {
    if (!out) return hidden[i];
    const float given = widen(out[i]);
    return hidden[i] + (after ? given * out_scale * widen(after[i]) : given);
  };
  float x_scale = 1.0f;
  if (before) {
    float squares = 0.0f;
    for (int i = threadIdx.x; i < a.width; i += kRowThreads) {
      const float value = sum(i);
      squares = fmaf(value, value, squares);
    }
    x_scale = scale_of(squares);
  }
  for (int i = threadIdx.x; i < a.width; i += kRowThreads) {
    const float value = sum(i);
    if (!a.rows) hidden[i] = value;
    x[i] = narrow<T>(before ? value * x_scale * widen(before[i]) : value);
  }
}

constexpr int kHeadThreads = kMaxGpuHeadDim;

/// A block for each head of each token.
template <class T>
__global__ void __launch_bounds__(kHeadThreads) place_heads_kernel(GpuHeads a) {
  __shared__ float values[kMaxGpuHeadDim];
  const int index = static_cast<int>(blockIdx.x), d = static_cast<int>(threadIdx.x);
  const GpuToken token = a.tokens[blockIdx.y];
  if (token.step < 0) return;  // the whole block
  const int num_keys = a.num_key_heads, D = a.head_dim;
  const bool is_query = index < a.num_heads;
  const bool is_key = !is_query && index < a.num_heads + num_keys;
  const int head = is_query ? index : is_key ? index - a.num_heads : index - a.num_heads - num_keys;
  const int64_t stride = is_query ? a.q_stride : is_key ? a.k_stride : a.v_stride;
  const T* row = static_cast<const T*>(is_query ? a.q : is_key ? a.k : a.v) + blockIdx.y * stride;
  float value = d < D ? widen(row[head * D + d]) : 0.0f;
  const T* weight = static_cast<const T*>(is_query ? a.q_weight : is_key ? a.k_weight : nullptr);
  if (weight && a.norm != GpuHeadNorm::kNone) {
    const bool is_wide = a.norm == GpuHeadNorm::kWidth;
    const int width = is_wide ? (is_query ? a.num_heads : num_keys) * D : D;
    float squares = 0.0f;
    for (int i = d; i < width; i += kHeadThreads) {
      const float other = widen(row[(is_wide ? 0 : head * D) + i]);
      squares = fmaf(other, other, squares);
    }
    const float mean = block_sum<kHeadThreads>(squares) / static_cast<float>(width);
    if (d < D) value *= 1.0f / sqrtf(mean + a.eps) * widen(weight[(is_wide ? head * D : 0) + d]);
  }
  if (is_query || is_key) {
    if (d < D) values[d] = value;
    __syncthreads();
    if (d < D) {
      const int half = D / 2, i = d % half;
      const float cosine = a.cosines[blockIdx.y * half + i], sine = a.sines[blockIdx.y * half + i];
      value = d < half ? fmaf(value, cosine, -values[d + half] * sine)
                       : fmaf(value, cosine, values[i] * sine);
    }
  }
  if (d >= D) return;
  if (is_query) {
    a.queries[(static_cast<int64_t>(blockIdx.y) * a.num_heads + head) * D + d] = value;
    return;
  }
  const GpuCache cache = a.caches[token.step * a.cache_stride];
  T* to = static_cast<T*>(is_key ? cache.keys : cache.values);
  to[(head * cache.head_stride + token.place) * D + d] = narrow<T>(value);
}

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
  struct alignas(16) Vector {
    T values[16 / sizeof(T)];
  };
  constexpr int kValues = 16 / sizeof(T);
  const auto* vectors = reinterpret_cast<const Vector*>(from);
  const int each = D / kValues;
  for (int i = static_cast<int>(threadIdx.x); i < count * each; i += kAttendThreads) {
    const Vector vector = vectors[i];
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
        float* part =
            a.parts + ((token * a.num_heads + head) * a.num_chunks + chunk) * (D + 2);
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
          const float weight =
              weights[(row_of(i) < num_rows ? row_of(i) : base) * kChunk + key];
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
__global__ void __launch_bounds__(kHeadThreads) merge_kernel(GpuAttention a) {
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

template <class T>
__global__ void __launch_bounds__(kRowThreads) gate_kernel(GpuGate a) {
  const int i = static_cast<int>(blockIdx.x) * kRowThreads + static_cast<int>(threadIdx.x);
  if (i >= a.width) return;
  const float gate = widen(static_cast<const T*>(a.gate)[blockIdx.y * a.gate_stride + i]);
  const float up = widen(static_cast<const T*>(a.up)[blockIdx.y * a.up_stride + i]);
  const int64_t to = static_cast<int64_t>(blockIdx.y) * a.width + i;
  static_cast<T*>(a.x)[to] = narrow<T>(gate / (1.0f + expf(-gate)) * up);
}

/// Blocks of a launch.
struct Grid {
  int x, y = 1, z = 1;
};

template <class T>
struct Launches {
  static void embed(const GpuEmbedding& a, void* stream) {
    launch(embed_kernel<T>, Grid{a.num_tokens}, kRowThreads, stream, a);
  }
  static void norm(const GpuNorm& a, void* stream) {
    launch(norm_kernel<T>, Grid{a.num_rows}, kRowThreads, stream, a);
  }
  static void place_heads(const GpuHeads& a, void* stream) {
    const Grid grid{a.num_heads + 2 * a.num_key_heads, a.num_tokens};
    launch(place_heads_kernel<T>, grid, kHeadThreads, stream, a);
  }
  static void attend(const GpuAttention& a, void* stream) {
    const int tiles = (a.num_tokens + a.tile - 1) / a.tile;
    launch(attend_kernel<T>, Grid{a.num_chunks, a.num_key_heads, tiles}, kAttendThreads, stream, a);
    launch(merge_kernel<T>, Grid{a.num_heads, a.num_tokens}, kHeadThreads, stream, a);
  }
  static void gate(const GpuGate& a, void* stream) {
    const Grid grid{(a.width + kRowThreads - 1) / kRowThreads, a.num_tokens};
    launch(gate_kernel<T>, grid, kRowThreads, stream, a);
  }
};

template <class Args, void (*kFloat32)(const Args&, void*), void (*kBfloat16)(const Args&, void*)>
void by_type(GpuType type, const Args& args, void* stream) {
  type == GpuType::kFloat32 ? kFloat32(args, stream) : kBfloat16(args, stream);
}

GpuKernels kernels_with(const char* (*error)()) {
  using Wide = Launches<float>;
  using Half = Launches<Bfloat16>;
  return {by_type<GpuEmbedding, Wide::embed, Half::embed>,
          by_type<GpuNorm, Wide::norm, Half::norm>,
          by_type<GpuHeads, Wide::place_heads, Half::place_heads>,
          by_type<GpuAttention, Wide::attend, Half::attend>,
          by_type<GpuGate, Wide::gate, Half::gate>,
          error};
}

}  // namespace
}  // namespace predgen

// Per-token work: embedding, norms, heads, gates.
#pragma once

#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/gpu_values.cuh"

namespace predgen {
namespace {

constexpr int kRowThreads = 256;

template <class T>
__global__ void __launch_bounds__(kRowThreads) embed_kernel(GpuEmbedding a) {
  const GpuToken token = a.tokens[blockIdx.x];
  const int64_t row = blockIdx.x;
  const T* from = static_cast<const T*>(a.table) + static_cast<int64_t>(token.id) * a.width;
  for (int i = threadIdx.x; i < a.width; i += kRowThreads) {
    a.hidden[row * a.width + i] = widen(from[i]) * a.scale;
  }
  const int half = a.head_dim / 2;
  for (int i = threadIdx.x; i < a.num_ropes * half; i += kRowThreads) {
    const float angle = static_cast<float>(token.position) * a.frequencies[i];
    const int rope = i / half;
    const int64_t to = (static_cast<int64_t>(rope) * a.num_tokens + row) * half + i % half;
    a.cosines[to] = cosf(angle) * a.factors[rope];
    a.sines[to] = sinf(angle) * a.factors[rope];
  }
}

constexpr int kNormThreads = 1024;
constexpr int kNormBlocksAhead = 32;
constexpr int kNormValues = kMaxGpuWidth / kNormThreads;  // values of a row kept by a thread

template <class T>
__global__ void __launch_bounds__(kNormThreads) norm_kernel(GpuNorm a) {
  if (static_cast<int>(blockIdx.x) >= a.num_rows) {
    read_ahead(a.ahead, static_cast<int>(blockIdx.x) - a.num_rows, kNormBlocksAhead, kNormThreads);
    return;
  }
  const int64_t row = a.rows ? a.rows[blockIdx.x] : static_cast<int64_t>(blockIdx.x);
  float* hidden = a.hidden + row * a.width;
  const T* out = a.out ? static_cast<const T*>(a.out) + row * a.width : nullptr;
  const T* after = static_cast<const T*>(a.after);
  const T* before = static_cast<const T*>(a.before);
  T* x = static_cast<T*>(a.x) + static_cast<int64_t>(blockIdx.x) * a.width;
  const auto place = [](int k) { return static_cast<int>(threadIdx.x) + k * kNormThreads; };
  float values[kNormValues], given[kNormValues];
#pragma unroll
  for (int k = 0; k < kNormValues; ++k) {
    values[k] = place(k) < a.width ? hidden[place(k)] : 0.0f;
    given[k] = out && place(k) < a.width ? widen(out[place(k)]) : 0.0f;
  }
  const auto scale_of = [&](const float row_values[kNormValues]) {
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < kNormValues; ++k) squares = fmaf(row_values[k], row_values[k], squares);
    return 1.0f / sqrtf(block_sum<kNormThreads>(squares) / static_cast<float>(a.width) + a.eps);
  };
  const auto factor = [&](const T* weights, int k) {
    return place(k) < a.width ? widen(weights[place(k)]) + a.offset : 0.0f;
  };
  if (after) {
    const float scale = scale_of(given);
#pragma unroll
    for (int k = 0; k < kNormValues; ++k) given[k] *= scale * factor(after, k);
  }
#pragma unroll
  for (int k = 0; k < kNormValues; ++k) values[k] += given[k];
  const float scale = before ? scale_of(values) : 1.0f;
#pragma unroll
  for (int k = 0; k < kNormValues; ++k) {
    if (place(k) >= a.width) break;
    if (!a.rows) hidden[place(k)] = values[k];
    x[place(k)] = narrow<T>(before ? values[k] * scale * factor(before, k) : values[k]);
  }
}

constexpr int kHeadThreads = kMaxGpuHeadDim;

/// One block per head and token.
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
    if (d < D) {
      const float factor = widen(weight[(is_wide ? head * D : 0) + d]) + a.offset;
      value *= 1.0f / sqrtf(mean + a.eps) * factor;
    }
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

/// One block per head, for the keys and for the values of a layer. A thread's values move towards
/// the front in order, so none is overwritten before it has moved.
template <class T>
__global__ void __launch_bounds__(kHeadThreads) keep_path_kernel(GpuKeptPath a) {
  const GpuCache cache = a.caches[blockIdx.y / 2];
  T* const rows = static_cast<T*>(blockIdx.y % 2 == 0 ? cache.keys : cache.values) +
                  (blockIdx.x * cache.head_stride + a.begin) * a.head_dim;
  for (int d = static_cast<int>(threadIdx.x); d < a.head_dim; d += kHeadThreads) {
    for (int i = 0; i < a.count; ++i) rows[i * a.head_dim + d] = rows[a.from[i] * a.head_dim + d];
  }
}

template <class T>
__global__ void __launch_bounds__(kRowThreads) gate_kernel(GpuGate a) {
  if (static_cast<int>(blockIdx.y) == a.num_tokens) {
    read_ahead(a.ahead, static_cast<int>(blockIdx.x), (a.width + kRowThreads - 1) / kRowThreads,
               kRowThreads);
    return;
  }
  const int i = static_cast<int>(blockIdx.x) * kRowThreads + static_cast<int>(threadIdx.x);
  if (i >= a.width) return;
  const float gate = widen(static_cast<const T*>(a.gate)[blockIdx.y * a.gate_stride + i]);
  const float up = widen(static_cast<const T*>(a.up)[blockIdx.y * a.up_stride + i]);
  const int64_t to = static_cast<int64_t>(blockIdx.y) * a.width + i;
  // 1 + tanh(u) is 2 / (1 + e^-2u).
  const float turn = a.is_gelu ? gate * (1.59576912f + 0.0713548163f * (gate * gate)) : gate;
  static_cast<T*>(a.x)[to] = narrow<T>(gate / (1.0f + expf(-turn)) * up);
}
}  // namespace
}  // namespace predgen

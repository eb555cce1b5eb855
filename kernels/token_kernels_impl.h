// The kernels of token_kernels.h.
#pragma once

#include "kernels/token_attention.h"
#include "kernels/token_kernels.h"
#include "kernels/token_vectors.h"

namespace predgen {

// What layers that keep a state do to a token. A value's sums run in one order, whatever the lanes.
namespace {

inline Floats silu(Floats x) { return x / (1.0f + exponential(-x)); }

inline void convolve(const TokenConvolution& c) {
  const int64_t last = c.num_taps - 1;
  for (int64_t i = 0; i < c.channels; i += kLanes) {
    const int64_t count = c.channels - i;
    Floats total{};
    for (int64_t k = 0; k < last; ++k) {
      const Floats input = load(c.window + k * c.stride + i, count);
      if (k > 0) store(c.window + (k - 1) * c.stride + i, input, count);
      total += load(c.taps + k * c.stride + i, count) * input;
    }
    const Floats input = load(c.x + i, count);
    store(c.window + (last - 1) * c.stride + i, input, count);
    total += load(c.taps + last * c.stride + i, count) * input;
    store(c.to + i, c.has_silu ? silu(total) : total, count);
  }
}

/// x * factor / sqrt(sum(x^2) + 1e-6)
inline void norm_length(float* x, int64_t size, float factor) {
  Floats squares{};
  for (int64_t i = 0; i < size; i += kLanes) {
    const Floats values = load(x + i, size - i);
    squares += values * values;
  }
  const float scale = factor / __builtin_sqrtf(sum(squares) + 1e-6f);
  for (int64_t i = 0; i < size; i += kLanes) store(x + i, load(x + i, size - i) * scale, size - i);
}

/// The columns [begin, begin + kColumns * kLanes) of a head's matrix; `count` of them at most.
template <int64_t kColumns>
void advance_columns(const TokenDelta& d, int64_t head, int64_t begin, int64_t count) {
  float* const state = d.state + head * d.key_dim * d.value_dim + begin;
  const int64_t place = head * d.value_dim + begin;
  const float decay = d.decays[head], beta = d.betas[head];
  const auto left = [&](int64_t j) { return count - j * kLanes; };
  Floats change[kColumns]{}, found[kColumns]{};
  for (int64_t i = 0; i < d.key_dim; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      change[j] += d.key[i] * load(state + i * d.value_dim + j * kLanes, left(j));
    }
  }
  for (int64_t j = 0; j < kColumns; ++j) {
    const Floats value = load(d.values + place + j * kLanes, left(j));
    change[j] = beta * (value - decay * change[j]);
  }
  for (int64_t i = 0; i < d.key_dim; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      float* const at = state + i * d.value_dim + j * kLanes;
      const Floats fresh = decay * load(at, left(j)) + d.key[i] * change[j];
      store(at, fresh, left(j));
      found[j] += d.query[i] * fresh;
    }
  }
  for (int64_t j = 0; j < kColumns; ++j) store(d.to + place + j * kLanes, found[j], left(j));
}

inline void advance_delta(const TokenDelta& d) {
  constexpr int64_t kAtOnce = 4;  // vectors
  norm_length(d.query, d.key_dim, 1.0f / __builtin_sqrtf(static_cast<float>(d.key_dim)));
  norm_length(d.key, d.key_dim, 1.0f);
  for (int64_t head = 0; head < d.heads; ++head) {
    int64_t begin = 0;
    for (; begin + kAtOnce * kLanes <= d.value_dim; begin += kAtOnce * kLanes) {
      advance_columns<kAtOnce>(d, head, begin, kAtOnce * kLanes);
    }
    for (; begin < d.value_dim; begin += kLanes) {
      advance_columns<1>(d, head, begin, d.value_dim - begin);
    }
  }
}

}  // namespace

namespace {

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
void norm_row(const float* x, const void* weight, float offset, int64_t width, float eps,
              float* to) {
  Floats squares{};
  for (int64_t i = 0; i < width; i += kLanes) {
    const Floats values = load(x + i, width - i);
    squares += values * values;
  }
  const float mean = sum(squares) / static_cast<float>(width);
  const float scale = 1.0f / __builtin_sqrtf(mean + eps);
  for (int64_t i = 0; i < width; i += kLanes) {
    const Floats weights = load(static_cast<const T*>(weight) + i, width - i) + offset;
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

inline Floats sigmoid(Floats x) { return 1.0f / (1.0f + exponential(-x)); }
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), by 1 + tanh(u) = 2 / (1 + e^-2u).
inline Floats gelu(Floats x) {
  return x / (1.0f + exponential(-x * (1.59576912f + 0.0713548163f * (x * x))));
}

template <Floats (*activation)(Floats)>
void gate_values(float* gates, const float* x, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats value = activation(load(gates + i, count - i)) * load(x + i, count - i);
    store(gates + i, value, count - i);
  }
}

inline Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
inline void gate_clamped(float* gates, const float* x, int64_t count) {
  const Floats most = all(7.0f);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats gate = smaller(load(gates + i, count - i), most);
    const Floats value = -smaller(-smaller(load(x + i, count - i), most), most);
    store(gates + i, gate / (1.0f + exponential(gate * -1.702f)) * (value + 1.0f), count - i);
  }
}

inline void add_scaled(float* to, const float* x, float scale, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    store(to + i, load(to + i, count - i) + scale * load(x + i, count - i), count - i);
  }
}

inline bool is_above(float a, float b) { return a > b || (a != a && b == b); }

inline bool has_any(Words mask) {
  uint64_t parts[kLanes / 2], any = 0;
  __builtin_memcpy(parts, &mask, sizeof(mask));
  for (const uint64_t part : parts) any |= part;
  return any != 0;
}

inline int64_t first_largest(const float* x, int64_t count) {
  constexpr int64_t kAtOnce = 4;  // independent vectors
  Floats most[kAtOnce];
  for (Floats& lanes : most) lanes = all(x[0]);
  int64_t i = 0;
  for (; i + kAtOnce * kLanes <= count; i += kAtOnce * kLanes) {
    for (int64_t j = 0; j < kAtOnce; ++j) {
      const Floats values = load(x + i + j * kLanes);
      most[j] = ((values > most[j]) | (values != values)) ? values : most[j];
    }
  }
  float largest = x[0];
  for (const Floats& lanes : most) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      if (is_above(lanes[lane], largest)) largest = lanes[lane];
    }
  }
  for (; i < count; ++i) {
    if (is_above(x[i], largest)) largest = x[i];
  }
  constexpr int64_t kStep = 8 * kLanes;
  for (i = 0; i + kStep <= count; i += kStep) {
    Words found{};
    for (int64_t j = 0; j < kStep; j += kLanes) {
      const Floats values = load(x + i + j);
      found |=
          reinterpret_cast<Words>(largest != largest ? values != values : values == all(largest));
    }
    if (has_any(found)) break;
  }
  for (; i + 1 < count; ++i) {
    if (x[i] == largest || (largest != largest && x[i] != x[i])) break;
  }
  return i;
}

template <class T>
constexpr TokenKernels token_kernels() {
  return {.load = load_row<T>,
          .store = store_row<T>,
          .norm = norm_row<T>,
          .rotate = rotate_head,
          .attend = attend<T>,
          .gate_silu = gate_values<silu>,
          .gate_gelu = gate_values<gelu>,
          .gate_clamped = gate_clamped,
          .gate_sigmoid = gate_values<sigmoid>,
          .convolve = convolve,
          .advance_delta = advance_delta,
          .add = add_scaled,
          .argmax = first_largest};
}
constexpr TokenKernelSet token_kernel_set() {
  return {.float32 = token_kernels<float>(), .bfloat16 = token_kernels<uint16_t>()};
}

}  // namespace
}  // namespace predgen

// What layers that keep a state do to a token. A value's sums run in one order, whatever the lanes.
#pragma once

#include "kernels/token_kernels.h"
#include "kernels/token_vectors.h"

namespace predgen {
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
}  // namespace predgen

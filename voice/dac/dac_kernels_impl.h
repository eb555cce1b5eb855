// The kernels of dac_kernels.h.
#pragma once

#include "kernels/token_vectors.h"
#include "voice/dac/dac_kernels.h"

namespace predgen {
namespace {

constexpr int kTileRows = kLanes == 16 ? 8 : 4;  // rows whose sums share the registers
constexpr int64_t kDepth = 768;                  // inputs whose weights stay in cache

/// Taps [first_tap,last_tap) and channels [first,last): the part added to the sums at a time.
struct Depth {
  int64_t first_tap, last_tap, first, last;
};

/// `count` >= 1 for load() and store(), bounded in a way that the compiler can see.
inline int64_t few(int64_t count) { return count >= kLanes ? kLanes : count & (kLanes - 1); }

/// Adds a part of the depth to the sums of num_rows rows and num_vectors output vectors, starting
/// at row `row` and panel `panel`.
template <int num_rows, int num_vectors>
void add_tile(const TapProduct& product, const Depth& depth, int64_t panel, int64_t row) {
  constexpr int64_t width = num_vectors * kLanes;
  const int64_t in = product.in, first_out = panel * kPanelVectors * kLanes;
  const float* panel_weights = product.weights + first_out * product.taps * in;
  float* y = product.y + row * product.out + first_out;
  const int64_t num_outs = product.out - first_out;
  const bool begins = depth.first_tap == 0 && depth.first == 0;
  const bool adds = product.add != nullptr && depth.last_tap == product.taps && depth.last == in;
  const float* add = adds ? product.add + row * product.out + first_out : nullptr;
  Floats sums[num_rows][num_vectors];
#pragma GCC unroll 8
  for (int r = 0; r < num_rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < num_vectors; ++v) {
      const int64_t out = v * kLanes;
      sums[r][v] = begins ? load(product.bias + first_out + out)
                          : load(y + r * product.out + out, few(num_outs - out));
    }
  }
  for (int64_t tap = depth.first_tap; tap < depth.last_tap; ++tap) {
    const float* x = product.x + (row + tap * product.dilation) * in;
    const float* weights = panel_weights + tap * in * width;
    for (int64_t i = depth.first; i < depth.last; ++i) {
      Floats factors[num_vectors];
#pragma GCC unroll 3
      for (int v = 0; v < num_vectors; ++v) factors[v] = load(weights + i * width + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < num_rows; ++r) {
        const float value = x[r * in + i];
#pragma GCC unroll 3
        for (int v = 0; v < num_vectors; ++v) sums[r][v] += factors[v] * value;
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < num_rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < num_vectors; ++v) {
      const int64_t out = v * kLanes, place = r * product.out + out;
      if (add != nullptr) sums[r][v] += load(add + place, few(num_outs - out));
      store(y + place, sums[r][v], few(num_outs - out));
    }
  }
}

template <int num_vectors>
void add_rows(const TapProduct& product, const Depth& depth, int64_t panel, int64_t begin,
              int64_t end) {
  int64_t row = begin;
  for (; row + kTileRows <= end; row += kTileRows) {
    add_tile<kTileRows, num_vectors>(product, depth, panel, row);
  }
  if (row + kTileRows / 2 <= end) {
    add_tile<kTileRows / 2, num_vectors>(product, depth, panel, row);
    row += kTileRows / 2;
  }
  for (; row < end; ++row) add_tile<1, num_vectors>(product, depth, panel, row);
}

inline void multiply_panel(const TapProduct& product, int64_t panel, int64_t begin, int64_t end) {
  const int64_t taps = kDepth / product.in < 1 ? 1 : kDepth / product.in;
  const int64_t vectors = panel_width(product.out, kLanes, panel) / kLanes;
  const auto add = vectors == 1 ? add_rows<1> : vectors == 2 ? add_rows<2> : add_rows<3>;
  for (int64_t tap = 0; tap < product.taps; tap += taps) {
    for (int64_t i = 0; i < product.in; i += kDepth) {
      add(product,
          {.first_tap = tap,
           .last_tap = least(tap + taps, product.taps),
           .first = i,
           .last = least(i + kDepth, product.in)},
          panel, begin, end);
    }
  }
}

/// sin²(x), in [0,1] for every number.
inline Floats squared_sine(Floats x) {
  constexpr float kRounder = 12582912.0f;                          // 1.5 * 2^23
  const Floats halves = (x * 0.318309886f + kRounder) - kRounder;  // half turns, an integer
  // pi in three parts, whose products with a small integer are exact.
  Floats rest = x - halves * 3.140625f;
  rest = rest - halves * 9.67502593994140625e-4f;
  rest = rest - halves * 1.509957990978376432e-7f;
  const Floats square = rest * rest;
  Floats series = all(2.6083159809786593541503e-6f);
  series = series * square - 1.981069071916863322258e-4f;
  series = series * square + 8.33307858556509017944336e-3f;
  series = series * square - 0.166666597127914428710938f;
  const Floats sine = series * square * rest + rest;
  const Floats result = sine * sine;
  return result > 1.0f ? all(1.0f) : result;
}

inline void snake_rows(const float* x, const float* alpha, const float* inverse, int64_t rows,
                       int64_t channels, float* to) {
  for (int64_t row = 0; row < rows; ++row, x += channels, to += channels) {
    for (int64_t i = 0; i < channels; i += kLanes) {
      const int64_t count = channels - i;
      const Floats value = load(x + i, count);
      const Floats wave = squared_sine(value * load(alpha + i, count));
      store(to + i, wave * load(inverse + i, count) + value, count);
    }
  }
}

constexpr DacKernels all_dac_kernels() {
  return {.lanes = kLanes, .multiply = multiply_panel, .snake = snake_rows};
}

}  // namespace
}  // namespace predgen

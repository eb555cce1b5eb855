#pragma once

#include <cstring>
#include <vector>

#include "kernels/gpu/gpu_kernels.h"
#include "tests/model/gpu/random_memory.h"

namespace predgen {

/// Tokens of two sequences, some of them a tree's, and one of padding; the caches of both.
struct Keys {
  static constexpr int kHeads = 4, kKeyHeads = 2, kHeadDim = 24, kPlaces = 80, kTokens = 6;
  static constexpr size_t kWidth = kHeads * kHeadDim, kValues = kKeyHeads * kPlaces * kHeadDim;
  static constexpr int32_t kTiles[] = {0, 3};

  Keys(bool is_wide, Numbers& numbers) : values(4 * kValues) {
    const size_t bytes = is_wide ? 4 : 2;
    Buffer<float> wide = numbers.floats(4 * kValues);
    Buffer<uint16_t> halves = numbers.halves(4 * kValues);
    memcpy(values.data(), is_wide ? static_cast<void*>(wide.data()) : halves.data(),
           4 * kValues * bytes);
    const auto at = [&](size_t i) {
      return reinterpret_cast<char*>(values.data()) + i * kValues * bytes;
    };
    for (const size_t step : {0, 2}) {
      caches.push_back({.keys = at(step), .values = at(step + 1), .head_stride = kPlaces});
    }
    const auto add = [&](int step, int place, int num_consecutive, uint64_t others) {
      tokens.push_back({.id = step == 0 ? 3 : 1,
                        .step = step,
                        .place = place,
                        .position = place,
                        .has_adapter = place % 2,
                        .num_consecutive = num_consecutive,
                        .others = {others, 0}});
    };
    add(0, 70, 70, 0b1);
    add(0, 71, 70, 0b11);
    add(0, 72, 70, 0b101);  // a sibling
    add(1, 40, 41, 0);
    add(1, 41, 42, 0);
    add(-1, 0, 0, 0);
  }

  Buffer<float> values;
  std::vector<GpuCache> caches;
  std::vector<GpuToken> tokens;
};

/// Attention over Keys by two blocks that share the keys, three chunks, of a tile.
class AttentionMemory {
 public:
  static constexpr size_t kAll = Keys::kTokens * Keys::kWidth;

  AttentionMemory(bool is_wide, int tile)
      : numbers_(3),
        keys_(is_wide, numbers_),
        queries_(numbers_.floats(kAll)),
        parts_(kAll * 2 * 2),
        x_(kAll),
        counters_(Keys::kTokens * Keys::kKeyHeads) {
    attention = {.queries = queries_.data(),
                 .tokens = keys_.tokens.data(),
                 .caches = keys_.caches.data(),
                 .cache_stride = 1,
                 .num_tokens = Keys::kTokens,
                 .num_heads = Keys::kHeads,
                 .num_key_heads = Keys::kKeyHeads,
                 .head_dim = Keys::kHeadDim,
                 .tile = tile,
                 .num_splits = 2,
                 .window = tile == 1 ? 40 : 0,
                 .scale = 0.2f,
                 .parts = parts_.data(),
                 .x = x_.data(),
                 .tiles = tile == 1 ? nullptr : Keys::kTiles,
                 .num_tiles = tile == 1 ? Keys::kTokens : 2,
                 .counters = counters_.data()};
  }
  Buffer<float>& x() { return x_; }
  GpuAttention attention;

 private:
  Numbers numbers_;
  const Keys keys_;
  Buffer<float> queries_, parts_, x_;
  Buffer<int> counters_;
};

}  // namespace predgen

// The attention of the kernels for GPUs by itself: how a pass's tokens and keys are shared out.
#include <gtest/gtest.h>

#include <span>

#include "tests/fakes/tensors.h"
#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

constexpr int kHeads = 4, kKeyHeads = 2, kHeadDim = 24, kPlaces = 160, kNew = 10;

/// Float32 [2 * kNew,H*D] of the new tokens of two sequences, the second one 90 places long.
at::Tensor attend(int num_splits, int tile, std::span<const int32_t> tiles) {
  constexpr int kQueries = 2 * kNew;
  const at::Tensor queries = normal({kQueries, kHeads, kHeadDim}, 1);
  std::vector<at::Tensor> kept;
  std::vector<GpuCache> caches;
  std::vector<GpuToken> tokens;
  for (int step = 0; step < 2; ++step) {
    void* places[2];
    for (void*& place : places) {
      kept.push_back(normal({kKeyHeads, kPlaces, kHeadDim}, 2 + std::size(kept)));
      place = kept.back().mutable_data_ptr();
    }
    caches.push_back({.keys = places[0], .values = places[1], .head_stride = kPlaces});
    for (int place = step == 0 ? kPlaces - kNew : 80; std::ssize(tokens) < kNew * (step + 1);
         ++place) {
      tokens.push_back({.id = 0,
                        .step = step,
                        .place = place,
                        .position = place,
                        .has_adapter = 0,
                        .num_consecutive = place + 1,
                        .others = {0, 0}});
    }
  }
  at::Tensor parts = at::empty({kQueries, kHeads, num_splits, kHeadDim + 2});
  at::Tensor x = at::zeros({kQueries, kHeads * kHeadDim});
  at::Tensor counters = at::zeros({kQueries, kKeyHeads}, at::kInt);
  emulated_kernels(ThreadOrder::kAscending)
      .attend(GpuType::kFloat32,
              {.queries = queries.const_data_ptr<float>(),
               .tokens = tokens.data(),
               .caches = caches.data(),
               .cache_stride = 1,
               .num_tokens = kQueries,
               .num_heads = kHeads,
               .num_key_heads = kKeyHeads,
               .head_dim = kHeadDim,
               .tile = tile,
               .num_splits = num_splits,
               .window = 0,
               .scale = 0.3f,
               .parts = parts.mutable_data_ptr<float>(),
               .x = x.mutable_data_ptr(),
               .tiles = tiles.empty() ? nullptr : tiles.data(),
               .num_tiles = tiles.empty() ? kQueries / tile : static_cast<int>(tiles.size()),
               .counters = counters.mutable_data_ptr<int>()},
              nullptr);
  EXPECT_TRUE(counters.eq(0).all().item<bool>());
  return x;
}

/// A long pass has no more splits than it has chunks, and tiles that end where a sequence does.
TEST(GpuAttention, ALongPassHasTheBitsOfAShortOne) {
  constexpr int kChunks = kPlaces / kGpuChunk;
  const at::Tensor expected = attend(64, 1, {});
  const int32_t tiles[] = {0, 8, 10, 18};
  EXPECT_TRUE(attend(kChunks, 8, tiles).equal(expected));
  const at::Tensor other = attend(kChunks - 1, 8, tiles);  // two chunks together
  EXPECT_FALSE(other.equal(expected));
  EXPECT_LT(relative(other, expected), 1e-5);
}

}  // namespace
}  // namespace predgen

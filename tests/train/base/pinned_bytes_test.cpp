#include "train/base/pinned_bytes.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

namespace predgen::train {
namespace {

TEST(PinnedBytes, IsMadeOfPowersOfTwo) {
  constexpr int64_t kGrain = PinnedBytes::kGrain;
  // The last: a layer of a 7B model in bfloat16, which one block would keep as 512 MiB.
  for (const int64_t size : {int64_t{1}, kGrain - 1, kGrain, kGrain + 1, 5 * kGrain + 3, 7 * kGrain,
                             int64_t{466'092'032}}) {
    const std::vector<int64_t> sizes = PinnedBytes::block_sizes(size);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), size);
    int64_t taken = 0;
    for (const int64_t block : sizes) {
      taken += static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(block)));
    }
    EXPECT_LT(taken - size, kGrain) << size;
    EXPECT_LE(sizes.size(), 11U) << size;
  }
  EXPECT_TRUE(PinnedBytes::block_sizes(0).empty());
}

TEST(PinnedBytes, ComesBackInOneString) {
  const at::Tensor bytes_C = at::randint(0, 256, {7 * PinnedBytes::kGrain + 5}, at::kByte);
  const PinnedBytes pinned(bytes_C);
  EXPECT_EQ(pinned.size(), bytes_C.numel());
  const at::Tensor found_C = at::zeros_like(bytes_C);
  pinned.copy_to(found_C);
  EXPECT_TRUE(found_C.equal(bytes_C));
}

}  // namespace
}  // namespace predgen::train

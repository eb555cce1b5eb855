#include "model/kv_cache.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace predgen {
namespace {

KvCache small_cache() {
  return KvCache(
      {.num_layers = 2, .batch_size = 1, .num_kv_heads = 2, .capacity = 8, .head_dim = 4},
      at::kFloat);
}

at::Tensor filled(int64_t num_tokens, double value) {
  return at::full({1, 2, num_tokens, 4}, value, at::kFloat);
}

TEST(KvCache, AppendShowsOldAndNewPositions) {
  KvCache cache = small_cache();
  cache.append(0, filled(3, 1), filled(3, -1));
  cache.append(1, filled(3, 2), filled(3, -2));
  EXPECT_EQ(cache.length(), 0) << "only commit() counts";
  cache.commit(3);
  const auto [keys, values] = cache.append(1, filled(2, 5), filled(2, -5));
  EXPECT_EQ(keys.size(2), 5);
  EXPECT_TRUE(at::equal(keys, at::cat({filled(3, 2), filled(2, 5)}, 2)));
  EXPECT_TRUE(at::equal(values, at::cat({filled(3, -2), filled(2, -5)}, 2)));
}

TEST(KvCache, AnAbandonedPassLeavesNoTrace) {
  KvCache cache = small_cache();
  cache.append(0, filled(3, 1), filled(3, 1));
  cache.commit(3);
  cache.append(0, filled(4, 9), filled(4, 9));  // never committed
  EXPECT_EQ(cache.length(), 3);
  const auto [keys, values] = cache.append(0, filled(1, 2), filled(1, 2));
  EXPECT_TRUE(at::equal(keys, at::cat({filled(3, 1), filled(1, 2)}, 2)));
}

TEST(KvCache, TruncateMovesNoMemory) {
  KvCache cache = small_cache();
  const void* before = cache.append(0, filled(8, 1), filled(8, 1)).first.data_ptr();
  cache.commit(8);
  cache.truncate(5);
  EXPECT_EQ(cache.length(), 5);
  const at::Tensor keys = cache.append(0, filled(1, 7), filled(1, 7)).first;
  EXPECT_EQ(keys.data_ptr(), before);
  EXPECT_TRUE(at::equal(keys, at::cat({filled(5, 1), filled(1, 7)}, 2)));
  cache.truncate(0);
  EXPECT_EQ(cache.length(), 0);
}

TEST(KvCache, RefusesWhatDoesNotFit) {
  KvCache cache = small_cache();
  EXPECT_THROW(cache.append(0, filled(9, 1), filled(9, 1)), Error);
  EXPECT_THROW(cache.commit(9), Error);
  cache.commit(4);
  EXPECT_THROW(cache.truncate(5), Error);
  EXPECT_THROW(cache.truncate(-1), Error);
}

}  // namespace
}  // namespace predgen

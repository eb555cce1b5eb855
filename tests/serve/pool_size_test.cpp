#include "serve/pool_size.h"

#include <gtest/gtest.h>

#include "model/memory_left.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen::serve {
namespace {

int64_t positions(const std::string& pool, const std::string& context, int64_t free = 0) {
  const KvLayout layout{.num_layers = 1, .num_kv_heads = 1, .head_dim = 1, .options = at::kByte};
  return pool_positions(read_serve_config("", {"pool_positions=" + pool, "max_context=" + context}),
                        1024, layout, free);
}

TEST(PoolSize, IsThatOfOneConversationAtLeast) {
  EXPECT_EQ(positions("1024", "8192"), 1024) << "the model has no more";
  EXPECT_EQ(positions("300", "300"), 300);
  EXPECT_EQ(positions("0", "300"), 300);
  expect_user_error([&] { positions("1023", "8192"); }, {"pool_positions 1023", "1024"});
  expect_user_error([&] { positions("299", "300"); }, {"pool_positions 299", "300"});
}

/// A position has two bytes, and the other half is for what is swapped out.
TEST(PoolSize, FollowsFreeMemory) { EXPECT_EQ(positions("0", "300", 40000), 10000); }

TEST(PoolSize, SomeMemoryIsFree) {
  const int64_t free = memory_left(at::kCPU);
  EXPECT_GT(free, 1 << 20);
  EXPECT_LT(free, int64_t{1} << 50);
}

}  // namespace
}  // namespace predgen::serve

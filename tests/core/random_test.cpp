#include "core/random.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace predgen {
namespace {

std::vector<uint64_t> draw(Random random, int count) {
  std::vector<uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(random.next());
  return values;
}

// Datasets are named by seed: these numbers may never change.
TEST(Random, GoldenValues) {
  EXPECT_THAT(draw(Random(0, ""), 2),
              testing::ElementsAre(8242124992663431639u, 5134297717251122451u));
  EXPECT_THAT(
      draw(Random(7, "truncate", 3), 3),
      testing::ElementsAre(16829351767122159380u, 2507298285919767900u, 6242287651051454695u));
  Random random(7, "truncate", 3);
  EXPECT_EQ(random.below(1000), 380u);
  EXPECT_EQ(random.uniform(), 0.13592091243316962);
  std::vector<int> values(8);
  std::iota(values.begin(), values.end(), 0);
  random.shuffle(values);
  EXPECT_THAT(values, testing::ElementsAre(5, 4, 1, 6, 0, 2, 3, 7));
}

TEST(Random, SameKeySameNumbers) {
  EXPECT_EQ(draw(Random(1, "a", 2), 50), draw(Random(1, "a", 2), 50));
}

TEST(Random, StreamsAreIndependent) {
  std::set<uint64_t> seen;
  size_t drawn = 0;
  for (const uint64_t seed : {0, 1, 2}) {
    for (const char* purpose : {"a", "b", "ab"}) {
      for (uint64_t index = 0; index < 20; ++index) {
        for (const uint64_t value : draw(Random(seed, purpose, index), 20)) {
          seen.insert(value);
          ++drawn;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn) << "two streams share a number";
  // Neighbouring indices must not move together: their bits differ about half the time.
  int64_t differing = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    differing +=
        __builtin_popcountll(Random(5, "x", index).next() ^ Random(5, "x", index + 1).next());
  }
  EXPECT_NEAR(static_cast<double>(differing) / 1000, 32, 1);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(3, "below");
  std::vector<int> counts(6);
  for (int i = 0; i < 60000; ++i) ++counts.at(random.below(6));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
  // A bound of 3/4 of the range: plain modulo would favour the low third twofold.
  const uint64_t bound = 3ULL << 62;
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += random.below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(low, 10000, 500);
}

TEST(Random, UniformIsInTheHalfOpenInterval) {
  Random random(3, "uniform");
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Random, ShuffleGivesEveryOrderEquallyOften) {
  std::vector<int> counts(6);
  for (uint64_t index = 0; index < 12000; ++index) {
    Random random(9, "shuffle", index);
    std::vector<int> values{0, 1, 2};
    random.shuffle(values);
    ++counts.at(static_cast<size_t>(values[0] * 2 + (values[1] > values[2] ? 1 : 0)));
  }
  for (const int count : counts) EXPECT_NEAR(count, 2000, 200);
}

}  // namespace
}  // namespace predgen

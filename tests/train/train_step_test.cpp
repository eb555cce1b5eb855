#include "train/train_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace predgen::train {
namespace {

std::vector<int64_t> lengths(int64_t count) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(1 + i * 37 % 101);
  return values;
}

TEST(BatchSampler, AnEpochHasEveryRecordOnce) {
  BatchSampler sampler(lengths(103), 4, 1);
  ASSERT_EQ(sampler.batches_per_epoch(), 25);
  std::set<int64_t> seen;
  for (int64_t i = 0; i < 25; ++i) {
    for (const int64_t index : sampler.batch(i)) EXPECT_TRUE(seen.insert(index).second);
  }
  EXPECT_EQ(seen.size(), 100u);
}

TEST(BatchSampler, ANumberNamesTheSameBatchHoweverItIsReached) {
  BatchSampler walked(lengths(103), 4, 1), jumped(lengths(103), 4, 1);
  std::vector<int64_t> last;
  for (int64_t i = 0; i <= 60; ++i) last = walked.batch(i);
  EXPECT_EQ(jumped.batch(60), last);
  EXPECT_NE(jumped.batch(60 - 25), last);  // another epoch has another order
  BatchSampler other_seed(lengths(103), 4, 2);
  EXPECT_NE(other_seed.batch(60), last);
}

TEST(BatchSampler, BatchesHoldSimilarLengths) {
  const std::vector<int64_t> all = lengths(1000);
  BatchSampler sampler(all, 10, 1);
  int64_t padded = 0, total = 0;
  for (int64_t i = 0; i < sampler.batches_per_epoch(); ++i) {
    int64_t longest = 0;
    for (const int64_t index : sampler.batch(i)) {
      longest = std::max(longest, all[static_cast<size_t>(index)]);
      total += all[static_cast<size_t>(index)];
    }
    padded += longest * 10;
  }
  EXPECT_LT(static_cast<double>(padded), 1.1 * static_cast<double>(total));
}

TEST(BatchSampler, FindsTheLongestAndShrinksToTheData) {
  BatchSampler sampler({5, 9, 1, 7}, 2, 0);
  EXPECT_EQ(sampler.longest_batch(), (std::vector<int64_t>{1, 3}));
  BatchSampler small({5, 9}, 8, 0);
  EXPECT_EQ(small.batch_size(), 2);
  EXPECT_EQ(small.batch(3).size(), 2u);
}

}  // namespace
}  // namespace predgen::train

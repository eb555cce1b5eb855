#include "train/noisy_rows.h"

#include <gtest/gtest.h>

#include <set>

namespace predgen {
namespace {

constexpr TokenId kStop = 9;

// Prompt 1 2 3; answer 10 11 12 13 | 14 15 9 0: stop token in the second block.
Record record() {
  Record record;
  record.conversation_id = std::to_string(7);
  record.tokens = {1, 2, 3, 10, 11, 12, 13, 14, 15, 9};
  record.loss_mask = {0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
  record.prompt_length = 3;
  record.blocks = {{{{10, 5, 6, 13}, {10, 11, 12, 13}}}, {{{5, 5, 5, 5}, {14, 15, 9, 0}}}};
  return record;
}

ConsistencyOptions options(NoisyContext context) {
  ConsistencyOptions options;
  options.context = context;
  options.stop_tokens = {kStop};
  return options;
}

TEST(NoisyRows, CleanContextRunsEveryBlockBehindFixedPoints) {
  const RecordRows rows = make_noisy_rows(record(), options(NoisyContext::kClean), 1);
  EXPECT_EQ(rows.clean, (TokenIds{1, 2, 3, 10, 11, 12, 13, 14, 15, 9, 0}));
  ASSERT_EQ(rows.noisy.size(), 2u);
  // The first mismatch is token 1 of the block; token 3 agrees again but its input does not.
  EXPECT_EQ(rows.noisy[0].tokens, (TokenIds{1, 2, 3, 10, 5, 6, 13}));
  EXPECT_EQ(rows.noisy[0].columns, (std::vector<int64_t>{4, 5, 6}));
  // Column 8 predicts the stop token, the last that may be learned.
  EXPECT_EQ(rows.noisy[1].columns, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(rows.noisy[1].tokens, (TokenIds{1, 2, 3, 10, 11, 12, 13, 5, 5}));
}

TEST(NoisyRows, NoisyContextIsOneRow) {
  ConsistencyOptions noisy = options(NoisyContext::kNoisy);
  noisy.mean_over_blocks = true;
  const RecordRows rows = make_noisy_rows(record(), noisy, 1);
  ASSERT_EQ(rows.noisy.size(), 1u);
  EXPECT_EQ(rows.noisy[0].tokens, (TokenIds{1, 2, 3, 10, 5, 6, 13, 5, 5}));
  EXPECT_EQ(rows.noisy[0].columns, (std::vector<int64_t>{4, 5, 6, 7, 8}));
  EXPECT_DOUBLE_EQ(rows.noisy[0].weight, 0.5);
}

TEST(NoisyRows, NothingIsLearnedBehindTheStopToken) {
  Record stopped = record();
  stopped.blocks[0].states.back() = {kStop, 0, 0, 0};
  stopped.blocks[0].states.front() = {kStop, 5, 6, 7};
  EXPECT_EQ(make_noisy_rows(stopped, options(NoisyContext::kClean), 1).num_positions(), 0);
  // Without a stop token in the answer the last column predicts the next block's first token.
  Record open = record();
  open.blocks[1].states.back() = {14, 15, 16, 17};
  const RecordRows rows = make_noisy_rows(open, options(NoisyContext::kClean), 1);
  EXPECT_EQ(rows.noisy[1].columns, (std::vector<int64_t>{7, 8, 9, 10}));
}

TEST(NoisyRows, OneBlockAndStateAreDrawnBySeedAlone) {
  ConsistencyOptions one = options(NoisyContext::kClean);
  one.blocks = BlockChoice::kOne;
  std::set<size_t> lengths;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RecordRows rows = make_noisy_rows(record(), one, seed);
    ASSERT_EQ(rows.noisy.size(), 1u);
    EXPECT_EQ(rows.noisy[0].tokens, make_noisy_rows(record(), one, seed).noisy[0].tokens);
    lengths.insert(rows.noisy[0].tokens.size());
  }
  EXPECT_EQ(lengths.size(), 2u);  // both blocks were drawn
}

TEST(NoisyRows, ARandomStateIsNeverTheFixedPoint) {
  Record one_block = record();
  one_block.blocks = {{{{1, 1, 1, 1}, {10, 1, 1, 1}, {10, 11, 1, 1}, {10, 11, 12, 13}}}};
  std::set<int64_t> counts;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    counts.insert(make_noisy_rows(one_block, options(NoisyContext::kClean), seed).num_positions());
  }
  EXPECT_EQ(counts, (std::set<int64_t>{2, 3, 4}));
}

TEST(NoisyRows, ProgressiveWindowsRaiseTheNoise) {
  // States with 4, 3, 1 and 0 unsettled tokens of 4.
  const TrajectoryBlock block{
      {{0, 0, 0, 0}, {10, 0, 0, 0}, {10, 11, 12, 0}, {10, 11, 12, 13}}};
  EXPECT_EQ(progressive_state(block, 0, 4), 3u);  // target 0
  EXPECT_EQ(progressive_state(block, 1, 4), 2u);  // 1/3: 1/4 is nearer than 3/4
  EXPECT_EQ(progressive_state(block, 2, 4), 1u);  // 2/3
  EXPECT_EQ(progressive_state(block, 3, 4), 0u);  // 1
  EXPECT_EQ(progressive_state(block, 4, 4), 3u);  // the next window
}

TEST(NoisyRows, ARecordWithoutBlocksHasNone) {
  Record plain = record();
  plain.blocks.clear();
  EXPECT_EQ(make_noisy_rows(plain, options(NoisyContext::kClean), 1).num_positions(), 0);
}

}  // namespace
}  // namespace predgen

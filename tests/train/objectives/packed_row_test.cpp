#include "train/objectives/packed_row.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace predgen::train {
namespace {

constexpr TokenId kRowStop = 9;

// Prompt 1 2 3; answer 10 11 12 13 | 14 15 9 0: stop token in the second block.
data::Record record() {
  data::Record record;
  record.conversation_id = std::to_string(7);
  record.tokens = {1, 2, 3, 10, 11, 12, 13, 14, 15, 9};
  record.loss_mask = {0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
  record.prompt_length = 3;
  record.blocks = {{{{10, 5, 6, 13}, {10, 11, 12, 13}}}, {{{5, 5, 5, 5}, {14, 15, 9, 0}}}};
  return record;
}

ConsistencyOptions row_options(NoisyContext context) {
  ConsistencyOptions options;
  options.context = context;
  options.stop_tokens = {kRowStop};
  return options;
}

TokenIds tokens_of(const PackedRow& row, const Segment& segment) {
  const auto begin = row.tokens.begin() + segment.begin;
  return {begin, begin + segment.size};
}

size_t num_positions(const data::Record& record, const ConsistencyOptions& options, uint64_t seed) {
  return pack_row(record, options, seed).student.size();
}

TEST(PackedRow, CleanContextPutsEveryBlockAfterFixedPoints) {
  const PackedRow row = pack_row(record(), row_options(NoisyContext::kClean), 1);
  // Clean up to column 8, which predicts the stop token, the last that may be learned; then the
  // two blocks.
  EXPECT_EQ(row.tokens, (TokenIds{1, 2, 3, 10, 11, 12, 13, 14, 15, 10, 5, 6, 13, 5, 5}));
  ASSERT_EQ(row.segments.size(), 2u);
  EXPECT_EQ(row.segments[0].place, 3);
  EXPECT_EQ(tokens_of(row, row.segments[0]), (TokenIds{10, 5, 6, 13}));
  EXPECT_EQ(row.segments[1].place, 7);
  EXPECT_EQ(tokens_of(row, row.segments[1]), (TokenIds{5, 5}));
  // The first mismatch is token 1 of the block; token 3 agrees again but its input does not.
  EXPECT_EQ(row.teacher, (std::vector<int64_t>{4, 5, 6, 7, 8}));
  EXPECT_EQ(row.student, (std::vector<int64_t>{10, 11, 12, 13, 14}));
}

TEST(PackedRow, NoisyContextIsOneSegment) {
  ConsistencyOptions noisy = row_options(NoisyContext::kNoisy);
  noisy.mean_over_blocks = true;
  const PackedRow row = pack_row(record(), noisy, 1);
  ASSERT_EQ(row.segments.size(), 1u);
  EXPECT_EQ(row.segments[0].place, 3);
  EXPECT_EQ(tokens_of(row, row.segments[0]), (TokenIds{10, 5, 6, 13, 5, 5}));
  EXPECT_EQ(row.teacher, (std::vector<int64_t>{4, 5, 6, 7, 8}));
  EXPECT_EQ(row.weights, std::vector<double>(5, 0.5));
  EXPECT_EQ(row.count, 5.0);
  noisy.distance_decay = 0.5;
  const PackedRow decayed = pack_row(record(), noisy, 1);
  EXPECT_EQ(decayed.weights, (std::vector<double>{0.5, 0.25, 0.125, 0.5, 0.25}));
  EXPECT_EQ(decayed.count, 3.25);
}

TEST(PackedRow, NothingIsLearnedAfterTheStopToken) {
  data::Record stopped = record();
  stopped.blocks[0].states.back() = {kRowStop, 0, 0, 0};
  stopped.blocks[0].states.front() = {kRowStop, 5, 6, 7};
  EXPECT_EQ(num_positions(stopped, row_options(NoisyContext::kClean), 1), 0u);
  // Without a stop token in the answer the last column predicts the next block's first token.
  data::Record open = record();
  open.blocks[1].states.back() = {14, 15, 16, 17};
  EXPECT_EQ(pack_row(open, row_options(NoisyContext::kClean), 1).teacher,
            (std::vector<int64_t>{4, 5, 6, 7, 8, 9, 10}));
}

TEST(PackedRow, OneBlockIsDrawnBySeedAlone) {
  ConsistencyOptions one = row_options(NoisyContext::kClean);
  one.blocks = BlockChoice::kOne;
  std::set<int64_t> places;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const PackedRow row = pack_row(record(), one, seed);
    ASSERT_EQ(row.segments.size(), 1u);
    EXPECT_EQ(row.tokens, pack_row(record(), one, seed).tokens);
    places.insert(row.segments[0].place);
  }
  EXPECT_EQ(places, (std::set<int64_t>{3, 7}));
}

TEST(PackedRow, RandomStatesDifferAndAreNeverTheFixedPoint) {
  data::Record one_block = record();
  one_block.blocks = {{{{1, 1, 1, 1}, {10, 1, 1, 1}, {10, 11, 1, 1}, {10, 11, 12, 13}}}};
  ConsistencyOptions chosen = row_options(NoisyContext::kClean);
  std::set<size_t> counts;
  for (uint64_t seed = 0; seed < 50; ++seed) counts.insert(num_positions(one_block, chosen, seed));
  EXPECT_EQ(counts, (std::set<size_t>{2, 3, 4}));
  counts.clear();
  chosen.states_per_block = 2;
  for (uint64_t seed = 0; seed < 50; ++seed) counts.insert(num_positions(one_block, chosen, seed));
  EXPECT_EQ(counts, (std::set<size_t>{5, 6, 7}));
  chosen.states_per_block = 9;
  EXPECT_EQ(num_positions(one_block, chosen, 1), 9u);
}

TEST(PackedRow, ProgressiveWindowsRaiseTheNoise) {
  // States with 4, 3, 1 and 0 wrong tokens of 4.
  const data::TrajectoryBlock block{
      {{0, 0, 0, 0}, {10, 0, 0, 0}, {10, 11, 12, 0}, {10, 11, 12, 13}}};
  EXPECT_EQ(progressive_state(block, 0, 4), 3u);  // target 0
  EXPECT_EQ(progressive_state(block, 1, 4), 2u);  // 1/3: 1/4 is nearer than 3/4
  EXPECT_EQ(progressive_state(block, 2, 4), 1u);  // 2/3
  EXPECT_EQ(progressive_state(block, 3, 4), 0u);  // 1
  EXPECT_EQ(progressive_state(block, 4, 4), 3u);  // the next window
}

TEST(PackedRow, ProgressiveWindowsTeachShortAnswersEveryNoise) {
  data::Record one_block = record();
  one_block.blocks = {{{{0, 0, 0, 0}, {10, 0, 0, 0}, {10, 11, 12, 0}, {10, 11, 12, 13}}}};
  ConsistencyOptions chosen = row_options(NoisyContext::kClean);
  chosen.states = StateChoice::kProgressive;
  std::map<size_t, int> counts;
  size_t num_taught = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const size_t taught = num_positions(one_block, chosen, seed);
    ++counts[taught];
    num_taught += taught;
  }
  EXPECT_EQ(counts.size(), 4u);  // 0, 1, 3 and 4 wrong tokens
  EXPECT_GT(static_cast<double>(num_taught), 0.3 * 4 * 400);
}

TEST(PackedRow, ARecordWithoutBlocksHasNone) {
  data::Record plain = record();
  plain.blocks.clear();
  EXPECT_EQ(num_positions(plain, row_options(NoisyContext::kClean), 1), 0u);
}

TEST(PackedRow, TheAnswerIsASegmentFromWhereItDiffers) {
  PackedRow row = pack_row(record(), row_options(NoisyContext::kClean), 1);
  const size_t num_segments = row.segments.size();
  // The answer is the fixed points: nothing is added.
  EXPECT_EQ(add_tokens(record(), 9, row), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(row.segments.size(), num_segments);

  data::Record other = record();
  other.tokens = {1, 2, 3, 10, 20, 21, 22};
  const auto size = static_cast<int64_t>(row.tokens.size());
  EXPECT_EQ(add_tokens(other, 6, row), (std::vector<int64_t>{0, 1, 2, 3, size, size + 1}));
  ASSERT_EQ(row.segments.size(), num_segments + 1);
  EXPECT_EQ(row.segments.back().place, 4);
  EXPECT_EQ(tokens_of(row, row.segments.back()), (TokenIds{20, 21}));

  PackedRow empty;
  EXPECT_EQ(add_tokens(other, 2, empty), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(empty.tokens, (TokenIds{1, 2}));
}

TEST(PackedRow, TheLongestRowIsAnUpperBound) {
  const data::Record plain = record();
  data::RecordSize size{.tokens = 10, .prompt_length = 3};
  for (const data::TrajectoryBlock& block : plain.blocks) {
    size.blocks.push_back({static_cast<int64_t>(block.states.back().size()),
                           static_cast<int64_t>(block.states.size())});
  }
  for (const NoisyContext context : {NoisyContext::kClean, NoisyContext::kNoisy}) {
    for (const BlockChoice blocks : {BlockChoice::kOne, BlockChoice::kEvery}) {
      ConsistencyOptions chosen = row_options(context);
      chosen.blocks = blocks;
      chosen.states_per_block = 3;
      const ConsistencyObjective objective(chosen);
      for (uint64_t seed = 0; seed < 20; ++seed) {
        const PackedBatch packed = objective.pack({plain}, seed);
        EXPECT_LE(static_cast<int64_t>(packed.rows.at(0).size()), objective.longest_row(size));
        EXPECT_GE(static_cast<int64_t>(packed.rows.at(0).size()), 10);
      }
    }
  }
}

}  // namespace
}  // namespace predgen::train

#include "voice/zonos/code_grid.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen {
namespace {

constexpr int64_t M = kZonosMask, E = kZonosEos;

/// A column whose value of codebook k is 100 * k + number.
CodeColumn numbered(int64_t number) {
  CodeColumn column;
  for (int64_t k = 0; k < kZonosCodebooks; ++k) column[static_cast<size_t>(k)] = 100 * k + number;
  return column;
}

CodeColumn with_eos(CodeColumn column) {
  column[0] = E;
  return column;
}

std::vector<int64_t> row(const CodeGrid& grid, size_t codebook) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < grid.num_columns(); ++i) values.push_back(grid.column(i)[codebook]);
  return values;
}

TEST(CodeGrid, DelaysEachCodebookByOneMore) {
  CodeGrid grid({}, 3);
  EXPECT_EQ(grid.num_columns(), 1);
  for (int64_t i = 1; !grid.is_complete(); ++i) {
    EXPECT_EQ(grid.num_frames(), std::max<int64_t>(0, i - 9)) << i;
    grid.append(numbered(i));
  }
  EXPECT_EQ(row(grid, 0), (std::vector<int64_t>{M, 1, 2, 3, M, M, M, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 1), (std::vector<int64_t>{M, M, 102, 103, 104, M, M, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 8), (std::vector<int64_t>{M, M, M, M, M, M, M, M, M, 809, 810, 811}));
  EXPECT_EQ(grid.num_frames(), 3);
  EXPECT_FALSE(grid.ended_by_eos());
  const at::Tensor codes = grid.codes();
  for (int64_t k = 0; k < kZonosCodebooks; ++k) {
    for (int64_t frame = 0; frame < 3; ++frame) {
      EXPECT_EQ(codes[k][frame].item<int64_t>(), 100 * k + frame + k + 1);
    }
  }
  EXPECT_TRUE(at::equal(grid.codes(2), codes.narrow(1, 2, 1)));
}

TEST(CodeGrid, EosEndsWithTheFrameBeforeOnceTheOthersHaveCaughtUp) {
  CodeGrid grid({}, 50);
  for (int64_t i = 1; i <= 4; ++i) grid.append(numbered(i));
  EXPECT_FALSE(grid.ended_by_eos());
  grid.append(with_eos(numbered(5)));  // instead of frame 4
  EXPECT_TRUE(grid.ended_by_eos());
  EXPECT_FALSE(grid.may_end());
  int64_t further = 0;
  while (!grid.is_complete()) {
    grid.append(with_eos(numbered(6 + further)));  // later ones change nothing
    ++further;
  }
  EXPECT_EQ(further, 7);
  EXPECT_EQ(grid.num_frames(), 4);
  EXPECT_EQ(row(grid, 0), (std::vector<int64_t>{M, 1, 2, 3, 4, E, M, M, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 2), (std::vector<int64_t>{M, M, M, 203, 204, 205, 206, E, M, M, M, M, M}));
  EXPECT_EQ(row(grid, 8), (std::vector<int64_t>{M, M, M, M, M, M, M, M, M, 809, 810, 811, 812}));
  EXPECT_LT(grid.codes().max().item<int64_t>(), kZonosEos);
}

TEST(CodeGrid, TheFirstNewFrameIsNeverAnEnd) {
  CodeGrid grid({}, 5);
  EXPECT_TRUE(grid.is_first());
  EXPECT_FALSE(grid.may_end());
  grid.append(numbered(1));
  EXPECT_FALSE(grid.is_first());
  EXPECT_TRUE(grid.may_end());
}

TEST(CodeGrid, AfterTheLimitCodebookZeroCannotEndAnything) {
  CodeGrid grid({}, 2);
  for (int64_t i = 1; i <= 2; ++i) grid.append(numbered(i));
  EXPECT_FALSE(grid.may_end());
  while (!grid.is_complete()) grid.append(with_eos(numbered(1)));
  EXPECT_EQ(grid.num_frames(), 2);
  EXPECT_FALSE(grid.ended_by_eos());
}

TEST(CodeGrid, CodesOfEarlierAudioGoBefore) {
  const at::Tensor prefix = at::arange(9 * 5, at::kLong).view({9, 5});
  CodeGrid grid(prefix, 4);
  EXPECT_EQ(grid.num_columns(), 6);
  EXPECT_TRUE(grid.is_first());
  EXPECT_EQ(grid.num_frames(), 5);
  EXPECT_EQ(row(grid, 0), (std::vector<int64_t>{M, 0, 1, 2, 3, 4}));
  EXPECT_EQ(row(grid, 3), (std::vector<int64_t>{M, M, M, M, 15, 16}));
  int64_t appended = 0;
  while (!grid.is_complete()) {
    grid.append(numbered(++appended));
    EXPECT_EQ(grid.num_frames(), std::max<int64_t>(5, 5 + appended - 8)) << appended;
  }
  EXPECT_EQ(row(grid, 3), (std::vector<int64_t>{M, M, M, M, 15, 16, 17, 18, 19, 304, 305, 306, 307,
                                                M, M, M, M, M}));
  EXPECT_EQ(grid.num_frames(), 9);
  EXPECT_TRUE(at::equal(grid.codes().narrow(1, 0, 5), prefix));
  EXPECT_EQ(grid.codes(5)[3][0].item<int64_t>(), 304);
}

TEST(CodeGrid, LastColumnsAreThoseThereAre) {
  CodeGrid grid({}, 5);
  grid.append(numbered(1));
  EXPECT_EQ(grid.last_columns(0).size(), 0u);
  EXPECT_EQ(grid.last_columns(1)[0][0], 1);
  EXPECT_EQ(grid.last_columns(9).size(), 2u);
  EXPECT_EQ(grid.first_columns(2)[0][1].item<int64_t>(), 1);
}

TEST(CodeGrid, RefusesWhatIsNoAudio) {
  expect_user_error([] { CodeGrid({}, 0); }, {"limit", "0"});
  expect_user_error([] { CodeGrid(at::zeros({8, 3}, at::kLong), 5); }, {"[8, 3]", "9"});
  expect_user_error([] { CodeGrid(at::full({9, 3}, 1024, at::kLong), 5); }, {"1024", "1023"});
  expect_user_error([] { CodeGrid(at::full({9, 3}, -1, at::kLong), 5); }, {"-1"});
}

}  // namespace
}  // namespace predgen

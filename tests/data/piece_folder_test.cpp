#include "data/piece_folder.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen::data {
namespace {

namespace fs = std::filesystem;

const Json kPieceRecipe{{"seed", 1}};

RecordColumns piece_of(int64_t number) {
  Record record;
  record.conversation_id = std::to_string(number);
  record.tokens = {number, 2};
  record.loss_mask = {0, 1};
  record.prompt_length = 1;
  RecordColumns columns;
  columns.append(record);
  return columns;
}

/// What a rank takes, writes, and takes again.
void write_all(PieceFolder& folder, const RankShare& share) {
  while (std::optional<PieceFolder::Piece> piece = folder.claim(share)) {
    const int64_t number = piece->index;
    folder.write(std::move(*piece), piece_of(number), {{"sum", number}, {"deep", {{"one", 1}}}});
  }
}

TEST(PieceFolder, OrderAndCountersDoNotDependOnWhoWrites) {
  const TemporaryFolder folder;
  PieceFolder a(folder.path(), kPieceRecipe, 7);
  write_all(a, {.rank = 2, .num_ranks = 3});  // the others never come
  EXPECT_EQ(a.num_written(), 7);
  EXPECT_FALSE(a.is_finished());
  EXPECT_TRUE(a.finish());
  EXPECT_TRUE(a.is_finished());
  EXPECT_FALSE(a.finish());
  const auto dataset = open_dataset(folder.path());
  ASSERT_EQ(dataset->size(), 7);
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(dataset->read(i).tokens[0], i);
  EXPECT_EQ(dataset->manifest().at("counters"), (Json{{"sum", 21}, {"deep", {{"one", 7}}}}));
  EXPECT_FALSE(fs::exists(folder.path() / "recipe.json"));
}

TEST(PieceFolder, OwnShareFirstAndNothingTwice) {
  const TemporaryFolder folder;
  PieceFolder a(folder.path(), kPieceRecipe, 5), b(folder.path(), kPieceRecipe, 5);
  auto first = a.claim({.rank = 0, .num_ranks = 2});
  auto second = b.claim({.rank = 0, .num_ranks = 2});
  auto third = b.claim({.rank = 1, .num_ranks = 2});
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->index, 0);
  EXPECT_EQ(second->index, 2);
  EXPECT_EQ(third->index, 1);
  first.reset();  // given up
  EXPECT_EQ(b.claim({.rank = 0, .num_ranks = 2}).value().index, 0);
  b.write(std::move(*third), piece_of(1), {});
  write_all(a, {.rank = 1, .num_ranks = 2});
  EXPECT_FALSE(a.claim({.rank = 0, .num_ranks = 2}));  // b still has number 2
  EXPECT_EQ(a.num_written(), 4);
}

TEST(PieceFolder, ManyAtOnceWriteEachPieceOnce) {
  constexpr int64_t kPieces = 60;
  const TemporaryFolder folder;
  std::mutex mutex;
  std::multiset<int64_t> written;
  int num_finished = 0;
  {
    std::vector<std::jthread> ranks;
    for (int64_t rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([&] {  // all of them with the same share
        PieceFolder own(folder.path() / "new", kPieceRecipe, kPieces);
        while (auto piece = own.claim({})) {
          const int64_t number = piece->index;
          own.write(std::move(*piece), piece_of(number), {});
          const std::lock_guard lock(mutex);
          written.insert(number);
        }
        if (own.num_written() < kPieces) return;
        const bool finished = own.finish();
        const std::lock_guard lock(mutex);
        num_finished += finished;
      });
    }
  }
  EXPECT_EQ(written.size(), static_cast<size_t>(kPieces));
  EXPECT_EQ(std::set<int64_t>(written.begin(), written.end()).size(), written.size());
  EXPECT_EQ(num_finished, 1);
  EXPECT_EQ(open_dataset(folder.path() / "new")->size(), kPieces);
}

TEST(PieceFolder, GoesOnAfterAKillAtTheStart) {
  for (const char* left : {"", "{\n  \"se"}) {
    const TemporaryFolder folder;
    write_file(folder / "recipe.json", left);
    PieceFolder pieces(folder.path(), kPieceRecipe, 1);
    EXPECT_EQ(read_json(folder / "recipe.json"), kPieceRecipe);
    write_all(pieces, {});
    EXPECT_TRUE(pieces.finish());
  }
}

TEST(PieceFolder, RefusesWhatIsNotItsOwn) {
  const TemporaryFolder folder;
  write_file(folder / "holiday.jpg", "x");
  expect_user_error([&] { PieceFolder(folder.path(), kPieceRecipe, 1); }, {"not empty"});
  const fs::path own = folder.path() / "own";
  PieceFolder pieces(own, kPieceRecipe, 2);
  const Json other{{"seed", 2}};
  expect_user_error([&] { PieceFolder(own, other, 2); }, {"seed: 1 there, 2 here"});
  write_all(pieces, {});
  fs::resize_file(own / "shard-00001.h5", 100);
  expect_user_error([&] { pieces.finish(); }, {"shard-00001.h5", "remove this file"});
  fs::remove(own / "shard-00001.h5");
  PieceFolder again(own, kPieceRecipe, 2);
  write_all(again, {});
  EXPECT_TRUE(again.finish());
  expect_user_error([&] { PieceFolder(own, other, 2); }, {"seed: 1 there, 2 here"});
}

TEST(PieceFolder, WithoutARecordThereIsNoDataset) {
  const TemporaryFolder folder;
  PieceFolder pieces(folder.path(), kPieceRecipe, 1);
  pieces.write(*pieces.claim({}), {}, {{"dropped", 3}});
  expect_user_error([&] { pieces.finish(); }, {"empty", "\"dropped\":3"});
}

}  // namespace
}  // namespace predgen::data

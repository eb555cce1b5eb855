#include "model/sequence_state.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/model/gpu/emulated_kernels.h"

namespace predgen {
namespace {

constexpr int64_t kLayers = 2;
const KvLayout kLayout{
    .num_layers = kLayers, .num_kv_heads = 2, .head_dim = 4, .options = at::kFloat};

/// Of a model whose passes read pieces.
KvLayout pieced_layout() {
  KvLayout layout = kLayout;
  layout.in_pieces = true;
  return layout;
}

at::Tensor filled(int64_t num_tokens, double value) {
  return at::full({1, 2, num_tokens, 4}, value, at::kFloat);
}

/// The positions [begin,end) of these pieces of a layer.
std::pair<at::Tensor, at::Tensor> part_of(const std::vector<SequenceState::Piece>& pieces,
                                          int64_t begin, int64_t end) {
  std::vector<at::Tensor> keys, values;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int64_t from = std::max(begin, pieces[i].begin);
    const int64_t until = i + 1 < pieces.size() ? std::min(end, pieces[i + 1].begin) : end;
    if (from >= until) continue;
    keys.push_back(pieces[i].keys.narrow(2, from - pieces[i].begin, until - from));
    values.push_back(pieces[i].values.narrow(2, from - pieces[i].begin, until - from));
  }
  if (keys.empty()) return {filled(0, 0), filled(0, 0)};
  return {at::cat(keys, 2), at::cat(values, 2)};
}

std::vector<SequenceState::Piece> pieces_of(SequenceState& cache, int64_t layer, int64_t num_new) {
  std::vector<SequenceState::Piece> found;
  cache.pieces(layer, num_new, found);
  return found;
}

/// One token a value, in every layer: keys are value + layer / 8, values their negative.
void add(SequenceState& cache, const std::vector<int>& values) {
  const auto count = static_cast<int64_t>(values.size());
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    for (int64_t i = 0; i < count; ++i) {
      const double value = values[static_cast<size_t>(i)] + static_cast<double>(layer) / 8;
      const auto pieces = pieces_of(cache, layer, count);
      auto piece = pieces.end() - 1;
      while (piece->begin > cache.length() + i) --piece;
      const int64_t place = cache.length() + i - piece->begin;
      at::Tensor(piece->keys.narrow(2, place, 1)).fill_(value);
      at::Tensor(piece->values.narrow(2, place, 1)).fill_(-value);
    }
  }
  cache.commit(count);
}

/// What add() put there; every head, number and layer is looked at.
std::vector<int> contents(SequenceState& cache) {
  std::vector<int> found;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const auto [keys, values] = part_of(pieces_of(cache, layer, 0), 0, cache.length());
    EXPECT_TRUE(at::equal(keys, -values));
    std::vector<int> own;
    for (int64_t i = 0; i < cache.length(); ++i) {
      const at::Tensor key = keys.narrow(2, i, 1) - static_cast<double>(layer) / 8;
      EXPECT_EQ(key.min().item<float>(), key.max().item<float>());
      own.push_back(key.max().item<int>());
    }
    EXPECT_TRUE(layer == 0 || own == found);
    found = own;
  }
  cache.return_to(cache.length());  // no pass is under way
  return found;
}

TEST(SequenceState, AppendShowsOldAndNewPositions) {
  KvPool pool(kLayout);
  const auto cache = pool.make_state(8);
  cache->append(0, filled(3, 1), filled(3, -1));
  cache->append(1, filled(3, 2), filled(3, -2));
  EXPECT_EQ(cache->length(), 0) << "only commit() counts";
  cache->commit(3);
  const auto [keys, values] = cache->append(1, filled(2, 5), filled(2, -5));
  EXPECT_EQ(keys.size(2), 5);
  EXPECT_TRUE(at::equal(keys, at::cat({filled(3, 2), filled(2, 5)}, 2)));
  EXPECT_TRUE(at::equal(values, at::cat({filled(3, -2), filled(2, -5)}, 2)));
}

TEST(SequenceState, AnAbandonedPassLeavesNoTrace) {
  KvPool pool(kLayout);
  const auto cache = pool.make_state(8);
  add(*cache, {1, 1, 1});
  cache->append(0, filled(4, 9), filled(4, 9));  // never committed
  EXPECT_EQ(cache->length(), 3);
  add(*cache, {2});
  EXPECT_EQ(contents(*cache), (std::vector<int>{1, 1, 1, 2}));
}

TEST(SequenceState, TruncateMovesNoMemory) {
  KvPool pool(kLayout);
  const auto cache = pool.make_state(8);
  const void* before = cache->append(0, filled(8, 1), filled(8, 1)).first.data_ptr();
  cache->commit(8);
  cache->return_to(5);
  EXPECT_EQ(cache->length(), 5);
  const at::Tensor keys = cache->append(0, filled(1, 7), filled(1, 7)).first;
  EXPECT_EQ(keys.data_ptr(), before);
  EXPECT_TRUE(at::equal(keys, at::cat({filled(5, 1), filled(1, 7)}, 2)));
  cache->return_to(0);
  EXPECT_EQ(cache->length(), 0);
}

TEST(SequenceState, RefusesWhatDoesNotFit) {
  KvPool pool(kLayout);
  const auto cache = pool.make_state(8);
  EXPECT_THROW(cache->append(0, filled(9, 1), filled(9, 1)), Error);
  EXPECT_THROW(cache->commit(1), Error) << "nothing was appended";
  add(*cache, {1, 2, 3, 4});
  EXPECT_THROW(cache->return_to(5), Error);
  EXPECT_THROW(cache->return_to(-1), Error);
  for (const std::vector<int64_t>& wrong :
       std::vector<std::vector<int64_t>>{{1, 0}, {0, 0}, {2}, {-1}}) {
    EXPECT_THROW(cache->keep(2, wrong), Error);
  }
  EXPECT_EQ(contents(*cache), (std::vector<int>{1, 2, 3, 4}));
}

TEST(SequenceState, StorageGrowsWithUseAndGoesWithTheCache) {
  KvPool pool(kLayout, 1500);
  auto cache = pool.make_state(1000);
  EXPECT_EQ(pool.num_allocated(), 0);
  add(*cache, {1});
  EXPECT_EQ(pool.num_allocated(), 256);
  add(*cache, std::vector<int>(299, 2));
  EXPECT_EQ(pool.num_allocated(), 512);
  add(*cache, std::vector<int>(700, 3));
  EXPECT_EQ(pool.num_allocated(), 1000) << "never more than the capacity";
  std::vector<int> expected(1000, 3);
  expected[0] = 1;
  std::fill_n(expected.begin() + 1, 299, 2);
  EXPECT_EQ(contents(*cache), expected);
  const auto other = pool.make_state(1000);
  add(*other, {5});
  cache->reserve(0);  // in a pass: it is not swapped out
  expect_user_error([&] { add(*other, std::vector<int>(600, 6)); }, {"pool", "1500", "244", "345"});
  EXPECT_EQ(contents(*other), (std::vector<int>{5}));
  add(*other, std::vector<int>(499, 5));  // what is left, to the last position
  EXPECT_EQ(pool.num_allocated(), 1500);
  other->return_to(1);
  cache.reset();
  add(*other, std::vector<int>(600, 6));
  EXPECT_EQ(pool.num_allocated(), 1000);
  EXPECT_EQ(kLayout.bytes_per_position(), 2 * kLayers * 2 * 4 * 4);
}

TEST(SequenceState, AForkIsCopiedOnlyWhenBothWriteAtOnePlace) {
  KvPool pool(kLayout);
  const auto first = pool.make_state(100);
  add(*first, {1, 2, 3});
  auto fork = first->fork();
  EXPECT_EQ(fork->length(), 3);
  add(*fork, {4, 5});  // nobody else reads there
  EXPECT_EQ(pool.num_allocated(), 100);
  add(*first, {6});  // the fork does
  EXPECT_EQ(pool.num_allocated(), 200);
  EXPECT_EQ(contents(*first), (std::vector<int>{1, 2, 3, 6}));
  EXPECT_EQ(contents(*fork), (std::vector<int>{1, 2, 3, 4, 5}));
  fork = first->fork();
  EXPECT_EQ(pool.num_allocated(), 100);
  fork->return_to(1);
  add(*fork, {7});
  EXPECT_EQ(contents(*first), (std::vector<int>{1, 2, 3, 6}));
  EXPECT_EQ(contents(*fork), (std::vector<int>{1, 7}));
  fork.reset();
  add(*first, {8});
  EXPECT_EQ(pool.num_allocated(), 100) << "alone again";
}

TEST(SequenceState, ForksInOnePassDoNotWriteOverEachOther) {
  KvPool pool(kLayout);
  const auto first = pool.make_state(100);
  add(*first, {1, 2});
  const auto fork = first->fork();
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const double shift = static_cast<double>(layer) / 8;
    first->append(layer, filled(1, 3 + shift), -filled(1, 3 + shift));
    fork->append(layer, filled(1, 4 + shift), -filled(1, 4 + shift));
  }
  first->commit(1);
  fork->commit(1);
  EXPECT_EQ(contents(*first), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(contents(*fork), (std::vector<int>{1, 2, 4}));
}

TEST(SequenceState, KeepsAPathInItsOrder) {
  KvPool pool(kLayout);
  const auto cache = pool.make_state(100);
  add(*cache, {1, 2, 10, 11, 12, 13, 14});
  const auto fork = cache->fork();
  cache->keep(2, std::vector<int64_t>{0, 2, 4});
  EXPECT_EQ(contents(*cache), (std::vector<int>{1, 2, 10, 12, 14}));
  EXPECT_EQ(contents(*fork), (std::vector<int>{1, 2, 10, 11, 12, 13, 14}));
  cache->keep(2, std::vector<int64_t>{0, 1});
  EXPECT_EQ(contents(*cache), (std::vector<int>{1, 2, 10, 12}));
  cache->keep(1, {});
  EXPECT_EQ(contents(*cache), (std::vector<int>{1}));
}

TEST(SequenceState, KernelsKeepAPathInOneLaunch) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    KvLayout layout = kLayout;
    layout.options = type;
    layout.kernels = &emulated_kernels(ThreadOrder::kDescending);
    KvPool pool(layout);
    const auto cache = pool.make_state(100);
    add(*cache, {1, 2, 10, 11, 12, 13, 14});
    const int64_t before = num_emulated_launches();
    cache->keep(1, std::vector<int64_t>{0, 2, 3, 5});
    EXPECT_EQ(num_emulated_launches() - before, 1);
    EXPECT_EQ(contents(*cache), (std::vector<int>{1, 2, 11, 12, 14}));
  }
}

TEST(SequenceState, StorageBeginsWithWhatTheLayoutSaysUnlessThePoolIsLimited) {
  KvLayout layout = kLayout;
  layout.first_positions = 2048;
  KvPool pool(layout), limited(layout, 10000);
  const auto cache = pool.make_state(5000), other = limited.make_state(5000);
  add(*cache, {1});
  add(*other, {1});
  EXPECT_EQ(pool.num_allocated(), 2048);
  EXPECT_EQ(limited.num_allocated(), 256);
  const auto small = pool.make_state(300);
  add(*small, {1});
  EXPECT_EQ(pool.num_allocated(), 2048 + 300);
}

TEST(SequenceState, WhatWasUsedLeastRecentlyIsSwappedOut) {
  KvPool pool(kLayout, 600);
  const auto first = pool.make_state(300), second = pool.make_state(300),
             third = pool.make_state(300);
  add(*first, {1});
  add(*second, {2, 3});
  add(*first, {4, 5});
  add(*third, {6, 7, 8, 9});
  EXPECT_EQ(pool.num_swapped_out(), 2) << "the second one's";
  EXPECT_EQ(pool.num_allocated(), 512);
  const auto fork = second->fork();
  EXPECT_EQ(contents(*second), (std::vector<int>{2, 3}));
  EXPECT_EQ(contents(*fork), (std::vector<int>{2, 3}));
  EXPECT_EQ(contents(*first), (std::vector<int>{1, 4, 5}));
  EXPECT_EQ(contents(*third), (std::vector<int>{6, 7, 8, 9}));
}

TEST(SequenceState, WhatIsInAPassIsNotSwappedOut) {
  KvPool pool(kLayout, 512);
  auto cache = pool.make_state(300), other = pool.make_state(300), third = pool.make_state(300);
  add(*cache, {1, 2});
  cache->reserve(3);
  add(*other, {3});
  add(*third, {4});  // for which the other one makes room, though it was used later
  EXPECT_EQ(pool.num_swapped_out(), 1);
  other->reserve(1);  // for which the third one does
  expect_user_error([&] { add(*third, {5}); }, {"pool", "512", " 0 can be had", "2 are wanted"});
  cache->return_to(2);
  add(*third, {5});
  EXPECT_EQ(contents(*third), (std::vector<int>{4, 5}));
  EXPECT_EQ(contents(*cache), (std::vector<int>{1, 2}));
}

TEST(SequenceState, ForksAndGrowthCopyNothingWherePassesReadPieces) {
  KvPool pool(pieced_layout());
  const auto kept = pool.make_state(4096);
  std::vector<int> prompt(700);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int>(i);
  add(*kept, std::vector<int>(prompt.begin(), prompt.begin() + 100));
  add(*kept, std::vector<int>(prompt.begin() + 100, prompt.end()));
  std::vector<std::unique_ptr<SequenceState>> forks;
  std::vector<std::vector<int>> expected;
  for (int i = 0; i < 12; ++i) {
    const bool is_of_fork = i % 2 != 0;
    std::vector<int> own = is_of_fork ? expected.back() : prompt;
    own.resize(static_cast<size_t>(600 + i));
    forks.push_back((is_of_fork ? *forks.back() : *kept).fork());
    forks.back()->return_to(600 + i);
    for (int token = 0; token < 3; ++token) {
      add(*forks.back(), {-i, token});
      own.insert(own.end(), {-i, token});
    }
    expected.push_back(own);
  }
  add(*kept, {7, 8});
  EXPECT_LT(pool.num_copied(), 13 * 16) << "less than 16 positions of each";
  EXPECT_LE(pool.num_allocated(), 1024 + 13 * 256);
  for (size_t i = 0; i < forks.size(); ++i) EXPECT_EQ(contents(*forks[i]), expected[i]) << i;
  prompt.insert(prompt.end(), {7, 8});
  EXPECT_EQ(contents(*kept), prompt);
}

TEST(SequenceState, PiecesBecomeOneForAPassThatReadsNone) {
  KvPool pool(pieced_layout());
  const auto cache = pool.make_state(1000);
  std::vector<int> expected(300, 1);
  add(*cache, expected);
  const auto fork = cache->fork();
  for (SequenceState* one : {cache.get(), fork.get()}) {
    const auto [keys, values] = one->append(0, filled(2, 5), filled(2, -5));
    EXPECT_TRUE(at::equal(keys, at::cat({filled(300, 1), filled(2, 5)}, 2)));
    one->return_to(300);
    EXPECT_EQ(contents(*one), expected);
  }
}

/// Everything at random against plain vectors, also in pieces, and again in a pool with room for
/// one of them.
TEST(SequenceState, ACampaignOfForksTruncationsAndPathsEqualsVectors) {
  int64_t most_swapped_out = 0;
  for (uint64_t seed = 0; seed < 48; ++seed) {
    const int64_t room = seed % 24 < 12 ? 1000000 : 600;
    KvPool pool(seed < 24 ? kLayout : pieced_layout(), room);
    Random random(seed, "caches");
    std::vector<std::unique_ptr<SequenceState>> caches;
    std::vector<std::vector<int>> expected;
    caches.push_back(pool.make_state(600));
    expected.emplace_back();
    int next = 1;
    for (int step = 0; step < 120; ++step) {
      const size_t i = random.below(caches.size());
      SequenceState& cache = *caches[i];
      std::vector<int>& own = expected[i];
      switch (random.below(5)) {
        case 0:
          if (caches.size() < 5) {
            caches.push_back(cache.fork());
            expected.push_back(std::vector<int>(own));
          } else {
            caches.erase(caches.begin() + static_cast<int64_t>(i));
            expected.erase(expected.begin() + static_cast<int64_t>(i));
          }
          break;
        case 1:
          own.resize(random.below(own.size() + 1));
          cache.return_to(static_cast<int64_t>(own.size()));
          break;
        case 2: {
          const size_t begin = random.below(own.size() + 1);
          std::vector<int64_t> kept;
          std::vector<int> left(own.begin(), own.begin() + static_cast<int64_t>(begin));
          for (size_t place = begin; place < own.size(); ++place) {
            if (random.below(2) == 0) continue;
            kept.push_back(static_cast<int64_t>(place - begin));
            left.push_back(own[place]);
          }
          cache.keep(static_cast<int64_t>(begin), kept);
          own = left;
          break;
        }
        default: {
          std::vector<int> fresh(std::min<size_t>(1 + random.below(90), 600 - own.size()));
          if (fresh.empty()) break;
          for (int& value : fresh) value = next++;
          add(cache, fresh);
          own.insert(own.end(), fresh.begin(), fresh.end());
        }
      }
      ASSERT_LE(pool.num_allocated(), room);
      ASSERT_TRUE(room == 600 || pool.num_swapped_out() == 0);
      most_swapped_out = std::max(most_swapped_out, pool.num_swapped_out());
      if (step % 10 != 9) continue;
      for (size_t k = 0; k < caches.size(); ++k)
        ASSERT_EQ(contents(*caches[k]), expected[k]) << seed;
    }
    caches.clear();
    ASSERT_EQ(pool.num_swapped_out(), 0);
  }
  EXPECT_GT(most_swapped_out, 600);
}

}  // namespace
}  // namespace predgen

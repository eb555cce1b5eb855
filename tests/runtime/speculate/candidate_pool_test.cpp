#include "runtime/speculate/candidate_pool.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

using Candidates = std::vector<TokenIds>;

TEST(CandidatePool, KeepsTheNewestAndNoneTwice) {
  CandidatePool pool(2);
  pool.add({1, 2});
  pool.add({3});
  EXPECT_EQ(pool.newest_first(), (Candidates{{3}, {1, 2}}));
  pool.add({1});  // the beginning of one that is there
  EXPECT_EQ(pool.newest_first(), (Candidates{{1, 2}, {3}}));
  pool.add({3, 4});
  EXPECT_EQ(pool.newest_first(), (Candidates{{3, 4}, {1, 2}}));
  pool.add({5});
  EXPECT_EQ(pool.newest_first(), (Candidates{{5}, {3, 4}}));
  pool.clear();
  EXPECT_TRUE(pool.newest_first().empty());
}

}  // namespace
}  // namespace predgen

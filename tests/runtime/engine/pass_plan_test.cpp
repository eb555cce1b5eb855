#include "runtime/engine/pass_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace predgen {
namespace {

/// What asks for a pass; each is a call of its own.
struct Asking {
  std::string client;
  int64_t num_pending = 1, num_drafted = 0;
  Priority priority = Priority::kCommitted;
  int64_t last_pass = 0, num_skipped = 0;
};

std::vector<int64_t> plan(const std::vector<Asking>& asking, const PassLimits& limits) {
  std::vector<AskedOfPass> asked;
  for (const Asking& one : asking) {
    asked.push_back({.client = one.client,
                     .call = &one,
                     .priority = one.priority,
                     .num_pending = one.num_pending,
                     .num_drafted = one.num_drafted,
                     .last_pass = one.last_pass,
                     .num_skipped = one.num_skipped});
  }
  return plan_pass(asked, limits);
}

using Counts = std::vector<int64_t>;

TEST(PassPlan, AClientsShortestGoFirst) {
  EXPECT_EQ(plan({{"a", 12}, {"a", 1}, {"a", 3}}, {.tokens = 8}), (Counts{4, 1, 3}));
  EXPECT_EQ(plan({{"a", 6, 2}, {"a", 3}}, {.tokens = 8}), (Counts{5, 3}));  // a draft comes last
  EXPECT_EQ(plan({{"a", 1, 20}}, {.tokens = 8}), (Counts{21}));             // but is run whole
}

TEST(PassPlan, ClientsHaveEqualShares) {
  EXPECT_EQ(plan({{"a", 100}, {"a", 100}, {"a", 100}, {"b", 200}}, {.tokens = 80}),
            (Counts{40, 0, 0, 40}));
  // What one does not need, others have.
  EXPECT_EQ(plan({{"a", 100}, {"b", 10}, {"c", 100}}, {.tokens = 80}), (Counts{35, 10, 35}));
}

TEST(PassPlan, WhoWasLeftOutGoesFirst) {
  const std::vector<Asking> asking{{.client = "a", .last_pass = 7},
                                   {.client = "b", .last_pass = 6},
                                   {.client = "c", .last_pass = 7},
                                   {.client = "d"}};
  EXPECT_EQ(plan(asking, {.tokens = 2}), (Counts{0, 1, 0, 1}));
}

/// However many short ones come.
TEST(PassPlan, ALongRequestOfAClientIsNotLeftOutForEver) {
  const auto with = [](int64_t num_skipped) {
    return plan({{"a", 1}, {"a", 1}, {"a", 5, 0, Priority::kCommitted, 0, num_skipped}},
                {.tokens = 2});
  };
  EXPECT_EQ(with(7), (Counts{1, 1, 0}));
  EXPECT_EQ(with(8), (Counts{0, 0, 2}));
}

/// A pass over one token costs as much as 20 further ones.
TEST(PassPlan, WhatMakesOthersWaitRunsInPieces) {
  const PassLimits limits{.tokens = 512, .shares_at = 20};
  EXPECT_EQ(plan({{"a", 300}}, limits), (Counts{300}));
  EXPECT_EQ(plan({{"a", 300}, {"b", 1}}, limits), (Counts{10, 1}));
  EXPECT_EQ(plan({{"a", 300}, {"a", 1}}, limits), (Counts{10, 1}));      // another conversation
  EXPECT_EQ(plan({{"a", 300}, {"b", 101}}, limits), (Counts{60, 101}));  // half as long as b's
  EXPECT_EQ(plan({{"a", 1, 16}, {"b", 1}}, limits), (Counts{17, 1}));    // a draft is whole
  EXPECT_EQ(plan({{"a", 300}, {"b", 1, 0, Priority::kSpeculative}}, limits), (Counts{300, 1}));
  EXPECT_EQ(plan({{"a", 300, 0, Priority::kSpeculative}, {"b", 1}}, limits), (Counts{10, 1}));
  // All of a client's together.
  EXPECT_EQ(plan({{"a", 300}, {"a", 300}, {"b", 1}}, limits), (Counts{10, 0, 1}));
  EXPECT_EQ(plan({{"a", 300}, {"b", 1}}, {.tokens = 512}), (Counts{300, 1}));
}

TEST(PassPlan, WhoWasThereAMomentAgoMayComeBack) {
  const std::vector<Asking> asking{{.client = "a", .num_pending = 300, .last_pass = 5}};
  const auto with = [&](int64_t num_recent) {
    return plan(asking, {.tokens = 512, .shares_at = 20, .num_recent_clients = num_recent});
  };
  EXPECT_EQ(with(1), (Counts{300}));  // itself
  EXPECT_EQ(with(2), (Counts{10}));
}

}  // namespace
}  // namespace predgen

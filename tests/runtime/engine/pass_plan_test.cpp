#include "runtime/engine/pass_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace predgen {
namespace {

/// What asks for a pass; each is a call of its own.
struct Asking {
  std::string client;
  int64_t num_pending = 1, num_drafted = 0;
  Priority priority = Priority::kCommitted;
  int64_t last_pass = 0, num_skipped = 0;
  int64_t num_cached = 0;
  double owed = 0;
};

PassPlan plan_of(const std::vector<Asking>& asking, const PassLimits& limits) {
  std::vector<AskedOfPass> asked;
  for (const Asking& one : asking) {
    asked.push_back({.client = one.client,
                     .call = &one,
                     .priority = one.priority,
                     .num_pending = one.num_pending,
                     .num_drafted = one.num_drafted,
                     .num_cached = one.num_cached,
                     .owed = one.owed,
                     .last_pass = one.last_pass,
                     .num_skipped = one.num_skipped});
  }
  return plan_pass(asked, limits);
}

std::vector<int64_t> plan(const std::vector<Asking>& asking, const PassLimits& limits) {
  return plan_of(asking, limits).counts;
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

/// A pass over one token costs as much as 20 further ones, or as reading 1,000 cached ones. So
/// those behind 200 cost 5.
constexpr PassLimits kReads{
    .tokens = 512, .shares_at = 20, .reading = {.first = 0.001, .further = 0.001}};

Asking asks_behind(int64_t num_cached, const std::string& client, int64_t num_pending = 1,
                   Priority priority = Priority::kCommitted) {
  return {
      .client = client, .num_pending = num_pending, .priority = priority, .num_cached = num_cached};
}

TEST(PassPlan, TokensCostWhatTheyRead) {
  const Asking fork = asks_behind(200, "a"), answer = asks_behind(0, "b");
  EXPECT_EQ(plan({fork, fork, fork, answer}, kReads), (Counts{1, 1, 0, 1}));  // half of 20
  EXPECT_EQ(plan({fork, fork, fork, asks_behind(200, "b")}, kReads),
            (Counts{1, 1, 0, 1}));  // of 24
  EXPECT_EQ(plan({fork, fork, fork, asks_behind(500, "b")}, kReads),
            (Counts{1, 1, 1, 1}));  // of 30
  EXPECT_EQ(plan({fork, fork, fork}, kReads), (Counts{1, 1, 1}));
  // As they read each other, too, 2 tokens cost 10.02.
  EXPECT_EQ(plan({asks_behind(200, "a", 30), answer}, kReads), (Counts{1, 1}));
  EXPECT_EQ(plan({asks_behind(190, "a", 30), answer}, kReads), (Counts{2, 1}));
  // Where later ones cost less, the first costs 5, and each further one a little more than 1.4.
  PassLimits limits = kReads;
  limits.reading.further = 0.0001;
  EXPECT_EQ(plan({asks_behind(200, "a", 30), answer}, limits), (Counts{4, 1}));
  // The cheapest first.
  limits.tokens = 2;
  EXPECT_EQ(plan({asks_behind(200, "a"), asks_behind(0, "a", 2)}, limits), (Counts{0, 2}));
}

/// Shares are 256: one token of a's costs 201, and 117 of b's 252.7.
TEST(PassPlan, PromptsMakeEachOtherWaitForWhatTheirPartsCost) {
  EXPECT_EQ(plan({asks_behind(10000, "a", 1000), asks_behind(0, "b", 1000)}, kReads),
            (Counts{1, 66}));
}

/// 41 tokens, where 10 are half a pass.
TEST(PassPlan, ATokenThatCostsMoreThanItsShareIsPaidFor) {
  for (const Priority priority : {Priority::kCommitted, Priority::kSpeculative}) {
    double owed = 0;
    int64_t num_run = 0;
    for (int pass = 0; pass < 410; ++pass) {
      std::vector<Asking> asking(12, asks_behind(2000, "a", 1, priority));
      for (Asking& one : asking) one.owed = owed;
      asking.push_back(asks_behind(0, "b"));
      const PassPlan made = plan_of(asking, kReads);
      EXPECT_EQ(made.counts.back(), 1);
      num_run += std::count(made.counts.begin(), made.counts.end() - 1, 1);
      EXPECT_FALSE(made.owed.contains("b"));
      const auto left = made.owed.find("a");
      owed = left == made.owed.end() ? 0 : left->second;
      EXPECT_LE(owed, 41);
    }
    EXPECT_EQ(num_run, 100);
  }
}

TEST(PassPlan, WhoOwesDoesNotWaitForNobody) {
  const auto owing = [](const std::string& client) {
    Asking one = asks_behind(2000, client);
    one.owed = 30;
    return one;
  };
  EXPECT_EQ(plan({owing("a"), owing("a")}, kReads), (Counts{1, 1}));
  EXPECT_EQ(plan({owing("a"), asks_behind(0, "b")}, kReads), (Counts{0, 1}));
  EXPECT_EQ(plan({owing("a"), owing("b")}, kReads), (Counts{1, 1}));
  // Beside somebody who may come back.
  PassLimits limits = kReads;
  limits.num_recent_clients = 2;
  EXPECT_EQ(plan({owing("a")}, limits), (Counts{1}));
}

TEST(PassPlan, EqualsOweNothing) {
  EXPECT_TRUE(plan_of({asks_behind(2000, "a"), asks_behind(2000, "b")}, kReads).owed.empty());
  const std::vector<Asking> drafting{asks_behind(2000, "a"),
                                     asks_behind(0, "b", 1, Priority::kSpeculative)};
  EXPECT_TRUE(plan_of(drafting, kReads).owed.empty()) << "drafts do not count beside answers";
}

/// However long, it costs others no more than its first token.
TEST(PassPlan, ADraftIsWholeAndNotPaidFor) {
  Asking draft{.client = "a", .num_pending = 1, .num_drafted = 30};
  const PassPlan made = plan_of({draft, asks_behind(0, "b")}, kReads);
  EXPECT_EQ(made.counts, (Counts{31, 1}));
  EXPECT_TRUE(made.owed.empty());
  draft.num_cached = 2000;
  EXPECT_NEAR(plan_of({draft, asks_behind(0, "b")}, kReads).owed.at("a"), 31, 1e-9);
}

}  // namespace
}  // namespace predgen

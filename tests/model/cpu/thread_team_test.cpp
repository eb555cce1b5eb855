#include "model/cpu/thread_team.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace predgen {
namespace {

class ThreadTeamOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, ThreadTeamOf, testing::Values(1, 2, 3, 7),
                         testing::PrintToStringParamName());

TEST_P(ThreadTeamOf, EachThreadWorksOnceARun) {
  ThreadTeam team(GetParam());
  std::vector<int> calls(static_cast<size_t>(team.size()));
  for (int run = 1; run <= 100; ++run) {
    team.run([&](int thread) { ++calls[static_cast<size_t>(thread)]; });
    ASSERT_EQ(calls, std::vector<int>(calls.size(), run));
  }
}

/// Each reads what the others wrote before they met, many times over: a thread that went ahead
/// would read too early or write too soon.
TEST_P(ThreadTeamOf, WhatWasWrittenBeforeAMeetingIsThereAfterIt) {
  ThreadTeam team(GetParam());
  constexpr int kMeetings = 500;
  std::vector<int> written(static_cast<size_t>(team.size()));
  std::vector<int> errors(static_cast<size_t>(team.size()));
  team.run([&](int thread) {
    const auto own = static_cast<size_t>(thread);
    for (int i = 1; i <= kMeetings; ++i) {
      written[own] = i;
      team.meet();
      errors[own] += std::accumulate(written.begin(), written.end(), 0) != i * team.size();
      team.meet();
    }
  });
  EXPECT_EQ(errors, std::vector<int>(errors.size(), 0));
}

TEST_P(ThreadTeamOf, EndsWithoutEverHavingRun) { ThreadTeam team(GetParam()); }

}  // namespace
}  // namespace predgen

#include "model/cpu/thread_team.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace predgen {
namespace {

using std::chrono::milliseconds;

/// Awake for the less of a round of two, its caller would be through sooner alone.
TEST(TeamWidth, CallerGoesOnAloneWhileOthersAreLate) {
  const TeamWidth::Time begin{};
  TeamWidth width(2);
  EXPECT_EQ(width.next(begin), 2);
  width.took(begin, milliseconds(20), milliseconds(9));
  EXPECT_EQ(width.next(begin), 2);
  width.took(begin, milliseconds(20), milliseconds(11));
  EXPECT_EQ(width.next(begin), 1);
  EXPECT_EQ(width.next(begin + milliseconds(319)), 1);
  EXPECT_EQ(width.next(begin + milliseconds(320)), 2) << "to find out";
  width.took(begin, std::chrono::minutes(1), std::chrono::minutes(1));
  EXPECT_EQ(width.next(begin + milliseconds(999)), 1);
  EXPECT_EQ(width.next(begin + milliseconds(1000)), 2) << "not for long, whatever happened";
}

TEST(TeamWidth, ManyAreWorthAWait) {
  const TeamWidth::Time begin{};
  TeamWidth width(8);
  width.took(begin, milliseconds(80), milliseconds(69));
  EXPECT_EQ(width.next(begin), 8);
  width.took(begin, milliseconds(80), milliseconds(71));
  EXPECT_EQ(width.next(begin), 1);
}

class ThreadTeamOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, ThreadTeamOf, testing::Values(1, 2, 3, 7),
                         testing::PrintToStringParamName());

TEST_P(ThreadTeamOf, EachThreadWorksOnceARun) {
  ThreadTeam team(GetParam());
  std::vector<int> calls(static_cast<size_t>(team.size()));
  for (int run = 1; run <= 100; ++run) {
    std::vector<int> expected = calls;
    team.run([&](int thread) { ++calls[static_cast<size_t>(thread)]; });
    for (int i = 0; i < team.width(); ++i) ++expected[static_cast<size_t>(i)];
    ASSERT_EQ(calls, expected);
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
      errors[own] += std::accumulate(written.begin(), written.end(), 0) != i * team.width();
      team.meet();
    }
  });
  EXPECT_EQ(errors, std::vector<int>(errors.size(), 0));
}

/// Whether the system has the thread asleep: not running, nor ready to run as one that looks or
/// yields.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), {});
  return stat.find(") S ") != std::string::npos;
}

/// Waits until all but `but` sleep, a minute at most.
bool all_sleep(const std::vector<std::atomic<pid_t>>& threads, size_t but) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (size_t i = 0; i < threads.size(); ++i) {
    while (i != but && (threads[i] == 0 || !sleeps(threads[i]))) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

/// Each is late once, until all others have given up to look for it.
TEST_P(ThreadTeamOf, WhoWaitsLongSleeps) {
  for (int late = 0; late < GetParam(); ++late) {
    ThreadTeam team(GetParam());  // one whose caller does not go on alone
    std::vector<std::atomic<pid_t>> threads(static_cast<size_t>(team.size()));
    bool slept = false;
    team.run([&](int thread) {
      threads[static_cast<size_t>(thread)] = gettid();
      if (thread == late) slept = all_sleep(threads, static_cast<size_t>(late));
      team.meet();
    });
    ASSERT_TRUE(slept) << "while thread " << late << " was late";
    EXPECT_TRUE(all_sleep(threads, 0)) << "after the run";
  }
}

TEST_P(ThreadTeamOf, EndsWithoutEverHavingRun) { ThreadTeam team(GetParam()); }

}  // namespace
}  // namespace predgen

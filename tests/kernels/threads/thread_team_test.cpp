#include "kernels/threads/thread_team.h"

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
using Clock = TeamWidth::Clock;

constexpr Clock::duration kNeverAlone{0};

/// Awake for the less of a round of two, its caller would be through sooner alone.
TEST(TeamWidth, CallerGoesOnAloneWhileOthersAreLate) {
  const Clock::time_point begin{};
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
  const Clock::time_point begin{};
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
  ThreadTeam team(GetParam(), kNeverAlone);
  std::vector<int> calls(static_cast<size_t>(team.size()));
  for (int run = 1; run <= 100; ++run) {
    team.run([&](int thread) { ++calls[static_cast<size_t>(thread)]; });
    ASSERT_EQ(calls, std::vector<int>(calls.size(), run));
  }
}

/// Each reads what the others wrote before they met, many times over: a thread that went ahead
/// would read too early or write too soon.
TEST_P(ThreadTeamOf, WhatWasWrittenBeforeAMeetingIsThereAfterIt) {
  ThreadTeam team(GetParam(), kNeverAlone);
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
  ThreadTeam team(GetParam(), kNeverAlone);
  for (int late = 0; late < team.size(); ++late) {
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

/// The second thread is late until the caller has slept for most of the round.
TEST(ThreadTeam, CallerGoesOnAloneAfterALateRound) {
  ThreadTeam team(2);
  const Clock::time_point deadline = Clock::now() + std::chrono::minutes(1);
  std::vector<int> calls(2);
  do {  // again where something held up the caller for longer than it goes on alone
    std::vector<std::atomic<pid_t>> threads(2);
    const Clock::time_point begin = Clock::now();
    team.run([&](int thread) {
      threads[static_cast<size_t>(thread)] = gettid();
      if (thread == 0 || !all_sleep(threads, 1)) return;
      const Clock::time_point slept = Clock::now();
      while (Clock::now() - slept < 3 * (slept - begin)) std::this_thread::yield();
    });
    calls = {0, 0};
    team.run([&](int thread) { ++calls[static_cast<size_t>(thread)]; });
  } while (team.width() != 1 && Clock::now() < deadline);
  EXPECT_EQ(calls, (std::vector<int>{1, 0}));
}

TEST_P(ThreadTeamOf, EndsWithoutEverHavingRun) { ThreadTeam team(GetParam()); }

}  // namespace
}  // namespace predgen

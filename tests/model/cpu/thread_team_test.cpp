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
  ThreadTeam team(GetParam());
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

TEST_P(ThreadTeamOf, EndsWithoutEverHavingRun) { ThreadTeam team(GetParam()); }

}  // namespace
}  // namespace predgen

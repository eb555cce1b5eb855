#include "core/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/error.h"

namespace predgen {
namespace {

using Computation = VirtualClock::Computation;

/// Some real time, without sleeping.
void spend(Seconds amount) {
  const auto end = std::chrono::steady_clock::now() + steady_seconds(amount.count());
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(Seconds, AreWhatTimersCount) {
  EXPECT_EQ(steady_seconds(1.5), std::chrono::milliseconds(1500));
  EXPECT_EQ(steady_seconds(0), std::chrono::seconds(0));
}

TEST(VirtualClock, CostTableTimeMovesOnlyWhenTold) {
  VirtualClock clock(Computation::kCostTable);
  spend(Seconds(0.002));
  EXPECT_EQ(clock.now().count(), 0);
  clock.advance(Seconds(0.25));
  clock.advance(Seconds(0.5));
  EXPECT_EQ(clock.now().count(), 0.75);
  clock.sleep_until(Seconds(100));
  EXPECT_EQ(clock.now().count(), 100);
  clock.sleep_until(Seconds(50));
  EXPECT_EQ(clock.now().count(), 100) << "time never goes back";
  clock.exclude(Seconds(10));
  EXPECT_EQ(clock.now().count(), 100) << "exclude is for measured time";
}

TEST(VirtualClock, MeasuredTimeCountsWorkAndJumpsOverSleep) {
  VirtualClock clock(Computation::kMeasured);
  const auto real_start = std::chrono::steady_clock::now();
  spend(Seconds(0.002));
  EXPECT_GE(clock.now().count(), 0.002);
  clock.advance(Seconds(1000));
  EXPECT_LT(clock.now().count(), 1000) << "the cost was already measured";
  clock.sleep_until(Seconds(5000));
  EXPECT_GE(clock.now().count(), 5000);
  EXPECT_LT(std::chrono::steady_clock::now() - real_start, std::chrono::seconds(1000));
  clock.exclude(Seconds(4000));
  EXPECT_LT(clock.now().count(), 5000);
  EXPECT_GE(clock.now().count(), 1000);
}

TEST(SystemClock, SleepReachesTheTimeAndThePastCostsNothing) {
  SystemClock clock{std::stop_token()};
  clock.sleep_until(Seconds(-1));
  const Seconds wanted = clock.now() + Seconds(0.003);
  clock.sleep_until(wanted);
  EXPECT_GE(clock.now(), wanted);
}

TEST(SystemClock, AStopEndsASleepAtOnce) {
  alarm(60);  // ends a test that hangs
  std::stop_source source;
  SystemClock clock(source.get_token());
  {
    const std::jthread stopper([&] { source.request_stop(); });
    EXPECT_THROW(clock.sleep_until(Seconds(3600)), Interrupted);
  }
  EXPECT_THROW(clock.sleep_until(Seconds(3600)), Interrupted);
  EXPECT_NO_THROW(clock.sleep_until(Seconds(0))) << "there is nothing to wait for";
  alarm(0);
}

}  // namespace
}  // namespace predgen

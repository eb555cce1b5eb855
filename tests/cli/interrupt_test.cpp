#include "cli/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "core/clock.h"
#include "core/stop.h"

namespace predgen::cli {
namespace {

/// The handlers stay for good, so it runs in a process of its own.
[[noreturn]] void check_first_signal(int signal) {
  alarm(60);  // ends a test that hangs
  const std::stop_token stop = install_interrupt_handler();
  if (stop.stop_requested()) std::_Exit(1);
  throw_if_stopped(stop);
  std::raise(signal);
  try {
    SystemClock(stop).sleep_until(Seconds(3600));
    std::_Exit(2);
  } catch (const Interrupted&) {
  }
  if (!stop.stop_requested()) std::_Exit(3);
  try {
    throw_if_stopped(stop);
    std::_Exit(4);
  } catch (const Interrupted&) {
  }
  std::_Exit(0);
}

TEST(InterruptDeathTest, OneSignalAsksForAStopAndEndsSleep) {
  EXPECT_EXIT(check_first_signal(SIGINT), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(check_first_signal(SIGTERM), testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, ASecondSigtermIsThatOfTheLauncher) {
  EXPECT_EXIT(
      {
        install_interrupt_handler();
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

/// Does not look at the token.
[[noreturn]] void work_on(int signal) {
  alarm(60);
  install_interrupt_handler();
  allow_time_to_stop(std::chrono::seconds(1));
  std::raise(signal);
  while (true) pause();
}

TEST(InterruptDeathTest, AStepThatDoesNotLookEndsInTime) {
  EXPECT_EXIT(work_on(SIGINT), testing::ExitedWithCode(130), "in a step that took longer than 1 s");
  EXPECT_EXIT(work_on(SIGTERM), testing::ExitedWithCode(130), "in a step");
}

TEST(InterruptDeathTest, CallbacksOfAStopEndInTime) {
  EXPECT_EXIT(
      {
        alarm(60);
        const std::stop_callback on_stop(install_interrupt_handler(), [] { pause(); });
        allow_time_to_stop(std::chrono::seconds(1));
        std::raise(SIGTERM);
        while (true) pause();
      },
      testing::ExitedWithCode(130), "in a step");
}

TEST(InterruptDeathTest, ASecondCtrlCEndsTheProcess) {
  EXPECT_EXIT(
      {
        install_interrupt_handler();
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::_Exit(0);
      },
      testing::ExitedWithCode(130), "");
}

}  // namespace
}  // namespace predgen::cli

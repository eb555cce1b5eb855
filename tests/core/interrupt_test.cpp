#include "core/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

#include "core/clock.h"
#include "core/error.h"

namespace predgen {
namespace {

/// Leaves the flag set for good, so it runs in a process of its own.
[[noreturn]] void check_first_signal(int signal) {
  install_interrupt_handler();
  if (interrupted()) std::_Exit(1);
  throw_if_interrupted();
  std::raise(signal);
  if (!interrupted()) std::_Exit(2);
  try {
    throw_if_interrupted();
    std::_Exit(3);
  } catch (const Interrupted&) {
  }
  try {
    SystemClock().sleep_until(Seconds(3600));
    std::_Exit(4);
  } catch (const Interrupted&) {
  }
  std::_Exit(0);
}

TEST(InterruptDeathTest, OneSignalSetsTheFlagAndEndsSleep) {
  EXPECT_EXIT(check_first_signal(SIGINT), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(check_first_signal(SIGTERM), testing::ExitedWithCode(0), "");
}

TEST(InterruptDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        install_interrupt_handler();
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::_Exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(Interrupt, NothingHappensWithoutASignal) {
  EXPECT_FALSE(interrupted());
  EXPECT_NO_THROW(throw_if_interrupted());
}

}  // namespace
}  // namespace predgen

#include "cli/terminal/raw_terminal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "tests/fakes/pseudo_terminal.h"

namespace predgen::cli {
namespace {

constexpr const char* kAsBefore = "\033[?2004l\033[?7h\033[?25h\033[0m";

TEST(RawTerminal, HandsOverEveryKeyAndPutsTheTerminalBack) {
  PseudoTerminal pseudo(90, 30);
  ASSERT_TRUE(pseudo.is_as_before());
  {
    RawTerminal terminal(pseudo.fd(), pseudo.fd());
    EXPECT_FALSE(pseudo.is_as_before());
    EXPECT_EQ(terminal.size(), (ScreenSize{90, 30}));
    pseudo.type("\x03\r");
    char keys[2];
    ASSERT_EQ(read(pseudo.fd(), keys, 2), 2);
    EXPECT_EQ(std::string(keys, 2), "\x03\r");
    EXPECT_TRUE(terminal.write("shown"));
  }
  EXPECT_TRUE(pseudo.is_as_before());
  EXPECT_EQ(pseudo.read_until(kAsBefore), fmt::format("\033[?2004hshown{}", kAsBefore));
}

TEST(RawTerminal, NeedsTwoTerminals) {
  PseudoTerminal pseudo(80, 24);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(setenv("TERM", "xterm", 1), 0);
  EXPECT_TRUE(RawTerminal::is_possible(pseudo.fd(), pseudo.fd()));
  EXPECT_FALSE(RawTerminal::is_possible(ends[0], pseudo.fd()));
  EXPECT_FALSE(RawTerminal::is_possible(pseudo.fd(), ends[1]));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(RawTerminal::is_possible(pseudo.fd(), pseudo.fd()));
  unsetenv("TERM");
  EXPECT_FALSE(RawTerminal::is_possible(pseudo.fd(), pseudo.fd()));
  close(ends[0]);
  close(ends[1]);
}

// Each in a process of its own, which has the same pseudo terminal.
class RawTerminalEnd : public testing::Test {
 protected:
  ~RawTerminalEnd() override {
    EXPECT_TRUE(pseudo_.is_as_before());
    pseudo_.read_until(kAsBefore);
  }
  PseudoTerminal pseudo_{80, 24};
};

TEST_F(RawTerminalEnd, Signal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGABRT, SIGSEGV}) {
    EXPECT_EXIT(
        {
          std::signal(signal, SIG_DFL);  // a sanitizer's stays out of this
          RawTerminal terminal(pseudo_.fd(), pseudo_.fd());
          raise(signal);
        },
        testing::KilledBySignal(signal), "");
    EXPECT_TRUE(pseudo_.is_as_before()) << signal;
  }
}

TEST_F(RawTerminalEnd, SignalWithAHandlerReachesIt) {
  EXPECT_EXIT(
      {
        std::signal(SIGTERM, [](int) { _exit(42); });
        RawTerminal terminal(pseudo_.fd(), pseudo_.fd());
        raise(SIGTERM);
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(RawTerminalEnd, Exit) {
  EXPECT_EXIT(
      {
        RawTerminal terminal(pseudo_.fd(), pseudo_.fd());
        std::exit(3);
      },
      testing::ExitedWithCode(3), "");
}

TEST_F(RawTerminalEnd, Exception) {
  try {
    RawTerminal terminal(pseudo_.fd(), pseudo_.fd());
    throw std::runtime_error("anything");
  } catch (const std::runtime_error&) {
  }
}

TEST(RawTerminal, HandlersAreAsBefore) {
  PseudoTerminal pseudo(80, 24);
  const auto handler = [](int) {};
  std::signal(SIGTERM, handler);
  { RawTerminal terminal(pseudo.fd(), pseudo.fd()); }
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), static_cast<void (*)(int)>(handler));
}

}  // namespace
}  // namespace predgen::cli

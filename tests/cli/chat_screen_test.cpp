#include "cli/chat_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/fakes/pseudo_terminal.h"

namespace predgen::cli {
namespace {

const ChatChoices kScreenChoices{{"off", "greedy"}, {"ar"}};

TEST(ChatScreen, KeysAndNewsMeet) {
  PseudoTerminal pseudo(80, 24);
  SystemClock clock{std::stop_token()};
  std::atomic<bool> has_sound = false;
  {
    ChatScreen screen(pseudo.fd(), pseudo.fd(), clock, kScreenChoices,
                      [&] { return has_sound.load(); }, {});
    pseudo.read_until("/help lists the commands");
    screen.begin_turn();
    pseudo.type("how are ");
    const auto heard = screen.source().wait_newer(0, clock);
    EXPECT_EQ(heard->text, "how are");
    screen.show_draft("I am fine.", 2);
    screen.mark_first_sentence("I am fine.");
    has_sound = true;
    pseudo.read_until("its sound ready");
    pseudo.type("you\r");
    const auto final = screen.source().wait_newer(heard->revision, clock);
    EXPECT_EQ(final->text, "how are you");
    EXPECT_TRUE(final->is_final);
    screen.print_answer("Fine.");
    pseudo.type("\x1b[200~pasted\rtext\x1b[201~");  // while the model is busy
    pseudo.read_until("pasted\r\ntext");
    screen.end_turn("[waited 5 ms]");
    pseudo.read_until("[waited 5 ms]");
    EXPECT_FALSE(pseudo.is_as_before());
  }
  EXPECT_TRUE(pseudo.is_as_before());
}

TEST(ChatScreen, CommandsAndTheEnd) {
  PseudoTerminal pseudo(80, 24);
  SystemClock clock{std::stop_token()};
  ChatScreen screen(pseudo.fd(), pseudo.fd(), clock, kScreenChoices, [] { return false; }, {});
  screen.begin_turn();
  pseudo.type("/verifier off\r");
  EXPECT_FALSE(screen.source().wait_newer(0, clock));
  EXPECT_EQ(screen.take_command()->name, "off");
  const std::stop_token stop = screen.begin_turn();
  pseudo.type("\x04");
  EXPECT_FALSE(screen.source().wait_newer(0, clock));
  EXPECT_FALSE(screen.take_command());
  EXPECT_TRUE(screen.is_leaving());
  EXPECT_TRUE(stop.stop_requested());
}

TEST(ChatScreen, LeavingBeforeTheFirstTurnEndsTheProcess) {
  PseudoTerminal pseudo(80, 24);
  EXPECT_EXIT(
      {
        SystemClock clock{std::stop_token()};
        ChatScreen screen(pseudo.fd(), pseudo.fd(), clock, kScreenChoices, [] { return false; },
                          {});
        pseudo.type("\x04");
        while (true) clock.sleep_until(clock.now() + Seconds(1));  // a model is loading
      },
      testing::ExitedWithCode(0), "");
  EXPECT_TRUE(pseudo.is_as_before());
}

TEST(ChatScreen, NewSizeIsDrawn) {
  PseudoTerminal pseudo(80, 24);
  SystemClock clock{std::stop_token()};
  ChatScreen screen(pseudo.fd(), pseudo.fd(), clock, kScreenChoices, [] { return false; }, {});
  screen.begin_turn();
  pseudo.type("twelve wide");
  pseudo.read_until("twelve wide");
  pseudo.resize(10, 24);
  pseudo.read_until("> twelve w\r\nide");
}

}  // namespace
}  // namespace predgen::cli

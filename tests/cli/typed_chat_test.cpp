#include "cli/typed_chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_terminal.h"
#include "tests/fakes/manual_clock.h"

namespace predgen::cli {
namespace {

using Kind = Key::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

class TypedChatTest : public testing::Test {
 protected:
  void type(const std::string& text) { chat_.press({.text = text}); }
  void press(Kind kind) { chat_.press({kind}); }
  std::vector<std::string> screen() {
    terminal_.feed(chat_.draw({40, 10}));
    return terminal_.screen();
  }
  std::optional<Transcript> next() { return source_.wait_newer(seen_, clock_); }
  std::string latest() { return source_.latest(clock_.now())->text; }

  ManualClock clock_;
  TypedLineSource source_{clock_};
  TypedChat chat_{source_, {{"off", "greedy", "topk"}, {"ar", "jacobi"}}};
  FakeTerminal terminal_{40, 10};
  int64_t seen_ = 0;
};

TEST_F(TypedChatTest, ATurn) {
  chat_.begin_turn();
  type("how are ");
  EXPECT_EQ(next()->text, "how are");
  chat_.mark_first_sentence("I am fine");
  chat_.show_draft("I am fine", 4);
  chat_.mark_sound("I am fine");
  EXPECT_THAT(screen(),
              ElementsAre("> how are ", "-- draft -- first sentence ready -- its ", "I am fine"));
  type("you");
  press(Kind::kEnter);
  EXPECT_THAT(screen(), ElementsAre("> how are you", "> "));
  const auto final = next();
  EXPECT_EQ(final->text, "how are you");
  EXPECT_TRUE(final->is_final);
  chat_.show_draft("late news", 0);
  chat_.print_answer("I am ");
  chat_.print_answer("fine.\nAnd ");
  EXPECT_THAT(screen(), ElementsAre("> how are you", "I am fine.", "And ", "> "));
  chat_.print_answer("you?");
  chat_.end_turn("[waited 5 ms]");
  EXPECT_THAT(screen(),
              ElementsAre("> how are you", "I am fine.", "And you?", "[waited 5 ms]", "> "));
  terminal_.feed(chat_.draw_end({40, 10}));
  EXPECT_EQ(terminal_.cursor(), std::make_pair(4, 0));
}

TEST_F(TypedChatTest, MarksStandWithDraftsThatHoldTheSentence) {
  chat_.begin_turn();
  type("a b ");
  chat_.mark_sound("");  // of what?
  chat_.show_draft(" One.", 0);
  EXPECT_EQ(screen()[1], "-- draft");
  chat_.mark_first_sentence("One.");
  chat_.show_draft(" One. Two", 4);
  EXPECT_EQ(screen()[1], "-- draft -- first sentence ready");
  chat_.mark_sound("Another.");
  EXPECT_EQ(chat_.sentence_without_sound(), "One.");
  chat_.mark_sound("One.");
  EXPECT_EQ(chat_.sentence_without_sound(), "");
  chat_.show_draft(" On", 2);
  EXPECT_EQ(screen()[1], "-- draft");
  chat_.mark_first_sentence("Only.");  // its sound is another
  chat_.show_draft(" Only.", 2);
  EXPECT_EQ(screen()[1], "-- draft -- first sentence ready");
}

TEST_F(TypedChatTest, EmptiedLineHasNoDraft) {
  chat_.begin_turn();
  type("a b ");
  chat_.show_draft("One.", 0);
  press(Kind::kCancel);
  chat_.show_draft("One. Two", 0);
  EXPECT_THAT(screen(), ElementsAre("> "));
  EXPECT_EQ(latest(), "");
}

TEST_F(TypedChatTest, LineTypedAheadWaitsForTheTurn) {
  chat_.begin_turn();
  type("one");
  press(Kind::kEnter);
  EXPECT_EQ(next()->text, "one");
  type("two");
  press(Kind::kEnter);
  EXPECT_THAT(screen(), ElementsAre("> one", "> ", "sent when this turn is over: two"));
  chat_.print_answer("first");
  chat_.end_turn("");
  EXPECT_THAT(screen(), ElementsAre("> one", "first", "> ", "sent when this turn is over: two"));
  chat_.begin_turn();
  EXPECT_THAT(screen(), ElementsAre("> one", "first", "> two", "> "));
  EXPECT_EQ(next()->text, "two");
}

TEST_F(TypedChatTest, LineIsTypedWhileTheModelLoads) {
  EXPECT_TRUE(chat_.is_loading());
  EXPECT_THAT(screen(), ElementsAre("> ", "the model is loading"));
  chat_.show_loading(3);
  EXPECT_THAT(screen(), ElementsAre("> ", "the model is loading (3 %)"));
  type("one");
  press(Kind::kEnter);
  chat_.show_loading(7);
  EXPECT_THAT(screen(), ElementsAre("> ", "sent when the model is loaded (7 %): one"));
  EXPECT_FALSE(source_.latest(clock_.now()));
  chat_.begin_turn();
  EXPECT_FALSE(chat_.is_loading());
  EXPECT_THAT(screen(), ElementsAre("> one", "> "));
  EXPECT_TRUE(next()->is_final);
}

TEST_F(TypedChatTest, CtrlCLeavesAtOnceWhileTheModelLoads) {
  type("one");
  press(Kind::kCancel);
  EXPECT_FALSE(chat_.is_leaving());
  press(Kind::kCancel);
  EXPECT_TRUE(chat_.is_leaving());
}

TEST_F(TypedChatTest, BackspaceOnAnEmptyLineTakesAWaitingLineBack) {
  for (const Kind kind : {Kind::kBackspace, Kind::kUp, Kind::kKillWord}) {
    TypedLineSource source(clock_);
    TypedChat chat(source, {});
    chat.press({.text = "two"});
    chat.press({Kind::kEnter});
    chat.press({.text = "x"});
    chat.press({Kind::kBackspace});
    EXPECT_THAT(chat.draw({40, 10}), HasSubstr("loaded: two"));
    chat.press({kind});
    chat.press({.text = "s"});
    chat.begin_turn();
    EXPECT_THAT(chat.draw({40, 10}), HasSubstr("> twos"));
    EXPECT_FALSE(source.latest(clock_.now()));
  }
}

TEST_F(TypedChatTest, WhatIsTypedBehindAWaitingLineIsTheNextOne) {
  type("/reset");
  press(Kind::kEnter);
  type("Write a ");
  EXPECT_THAT(screen(), ElementsAre("> Write a ", "carried out when the model is loaded: /r"));
  chat_.begin_turn();
  EXPECT_FALSE(next());
  EXPECT_EQ(chat_.take_command()->kind, ChatCommand::Kind::kReset);
  chat_.begin_turn();
  EXPECT_EQ(next()->text, "Write a");  // and it is drafted on while it grows
  type("song");
  press(Kind::kEnter);
  EXPECT_EQ(next()->text, "Write a song");
}

// As a terminal without bracketed paste sends it.
TEST_F(TypedChatTest, LinesThatComeDuringATurnFollowEachOther) {
  chat_.begin_turn();
  for (const char* line : {"one", "two 你", "", "three", "four "}) {
    type(line);
    if (line != std::string("four ")) press(Kind::kEnter);
  }
  EXPECT_EQ(next()->text, "one");
  EXPECT_THAT(screen(),
              ElementsAre("> one", "> four ", "sent when this turn is over: two 你 | th"));
  chat_.end_turn("");
  chat_.begin_turn();
  EXPECT_EQ(next()->text, "two 你");
  EXPECT_THAT(screen(),
              ElementsAre("> one", "> two 你", "> four ", "sent when this turn is over: three"));
  chat_.begin_turn();
  EXPECT_EQ(next()->text, "three");
  EXPECT_FALSE(source_.latest(clock_.now())->is_final);
  chat_.begin_turn();
  EXPECT_EQ(next()->text, "four");
}

TEST_F(TypedChatTest, CtrlCForgetsWhatWaits) {
  const std::stop_token turn = chat_.begin_turn();
  for (const char* line : {"one", "two", "three"}) {
    type(line);
    press(Kind::kEnter);
  }
  next();
  press(Kind::kCancel);
  EXPECT_FALSE(turn.stop_requested());
  EXPECT_THAT(screen(), ElementsAre("> one", "> "));
  press(Kind::kCancel);
  EXPECT_TRUE(turn.stop_requested());
  EXPECT_THAT(screen(), ElementsAre("> one", "> ", "stopping"));
  chat_.begin_turn();
  EXPECT_THAT(screen(), ElementsAre("> one", "> "));
}

TEST_F(TypedChatTest, CommandEndsTheTurnWithoutWords) {
  chat_.begin_turn();
  type("some ");
  press(Kind::kCancel);
  type("/verifier topk 3");
  chat_.show_draft("late", 0);
  EXPECT_THAT(screen(), ElementsAre("> /verifier topk 3"));
  EXPECT_EQ(latest(), "");  // a command is not spoken
  press(Kind::kEnter);
  EXPECT_FALSE(next());
  EXPECT_EQ(chat_.take_command(), (ChatCommand{ChatCommand::Kind::kVerifier, "topk", 3}));
  EXPECT_FALSE(chat_.take_command());
  chat_.print_line("verifier: topk 3");
  chat_.begin_turn();
  EXPECT_THAT(screen(), ElementsAre("> /verifier topk 3", "verifier: topk 3", "> "));
}

TEST_F(TypedChatTest, WrongCommandChangesNothing) {
  chat_.begin_turn();
  type("/comprae");
  press(Kind::kEnter);
  EXPECT_THAT(screen()[1], HasSubstr("\"/comprae\" is no command: did you mean"));
  EXPECT_FALSE(chat_.take_command());
  EXPECT_FALSE(source_.latest(clock_.now()));
  press(Kind::kUp);
  EXPECT_EQ(screen().back(), "> /comprae");
}

TEST_F(TypedChatTest, HelpComesAtOnceOthersWait) {
  chat_.begin_turn();
  type("one");
  press(Kind::kEnter);
  next();
  type("/help");
  press(Kind::kEnter);
  EXPECT_THAT(screen(), testing::Contains(HasSubstr("/quit")));
  type("/reset");
  press(Kind::kEnter);
  EXPECT_FALSE(chat_.take_command());
  chat_.end_turn("");
  chat_.begin_turn();
  EXPECT_FALSE(next());
  EXPECT_EQ(chat_.take_command()->kind, ChatCommand::Kind::kReset);
}

TEST_F(TypedChatTest, TwoSlashesAreOne) {
  chat_.begin_turn();
  type("//usr holds ");
  EXPECT_EQ(latest(), "/usr holds");
  press(Kind::kEnter);
  EXPECT_EQ(next()->text, "/usr holds");
}

TEST_F(TypedChatTest, CtrlCStopsTheTurnAndThenLeaves) {
  const std::stop_token first = chat_.begin_turn();
  type("one");
  press(Kind::kEnter);
  next();
  press(Kind::kCancel);
  EXPECT_TRUE(first.stop_requested());
  EXPECT_FALSE(chat_.is_leaving());
  chat_.end_turn("stopped");
  const std::stop_token second = chat_.begin_turn();
  EXPECT_FALSE(second.stop_requested());
  press(Kind::kCancel);
  EXPECT_EQ(screen().back(), "Ctrl-C again, or Ctrl-D, leaves");
  type("x");  // not twice in a row
  press(Kind::kCancel);
  press(Kind::kCancel);
  EXPECT_FALSE(chat_.is_leaving());
  press(Kind::kCancel);
  EXPECT_TRUE(chat_.is_leaving());
  EXPECT_TRUE(second.stop_requested());
  EXPECT_FALSE(next());
}

TEST_F(TypedChatTest, CtrlDLeavesOnAnEmptyLineOnly) {
  const std::stop_token stop = chat_.begin_turn();
  type("x");
  press(Kind::kLeave);
  EXPECT_FALSE(chat_.is_leaving());
  press(Kind::kBackspace);
  press(Kind::kLeave);
  EXPECT_TRUE(chat_.is_leaving());
  EXPECT_TRUE(stop.stop_requested());
  type("too late");
  EXPECT_THAT(screen(), ElementsAre("> "));
  EXPECT_TRUE(chat_.begin_turn().stop_requested());
}

TEST_F(TypedChatTest, BlankLinesAreNotSent) {
  chat_.begin_turn();
  press(Kind::kEnter);
  type("  ");
  press(Kind::kEnter);
  EXPECT_FALSE(source_.latest(clock_.now()));
}

TEST_F(TypedChatTest, NothingOfAModelControlsTheTerminal) {
  chat_.begin_turn();
  type("a b ");
  chat_.show_draft("\033[2Jx", 0);
  EXPECT_EQ(screen()[2], " [2Jx");
  press(Kind::kEnter);
  chat_.print_answer("\033[9Zy\n");
  EXPECT_THAT(screen(), ElementsAre("> a b ", " [9Zy", "> "));
}

// A long paragraph scrolls row by row; nothing is lost or said twice.
TEST_F(TypedChatTest, LongAnswersAreWhole) {
  chat_.begin_turn();
  type("tell");
  press(Kind::kEnter);
  std::string answer;
  for (int i = 0; i < 150; ++i) {
    const std::string word = "w" + std::to_string(i) + (i % 40 == 39 ? ".\n" : " 你 ");
    answer += word;
    chat_.print_answer(word);
    screen();
  }
  chat_.end_turn("end");
  screen();
  std::string seen;
  for (const auto& rows : {terminal_.scrolled(), terminal_.screen()}) {
    for (const std::string& row : rows) seen += row;
  }
  std::erase_if(answer, [](char c) { return c == '\n' || c == ' '; });
  std::erase(seen, ' ');  // those at the ends of rows are not there
  EXPECT_EQ(seen, ">tell" + answer + "end>");
}

}  // namespace
}  // namespace predgen::cli

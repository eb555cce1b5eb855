#include "cli/chat_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_terminal.h"

namespace predgen::cli {
namespace {

using testing::ElementsAre;

class Screen {
 public:
  Screen(const ChatPicture& picture, const ScreenSize& size)
      : terminal_(size.columns, size.rows), frame_(compose_frame(picture, size)) {
    EXPECT_LE(frame_.rows.size(), static_cast<size_t>(size.rows));
    terminal_.feed(LiveRegion().draw("", frame_, size.columns));
    EXPECT_TRUE(terminal_.scrolled().empty());
    EXPECT_EQ(terminal_.cursor(), std::make_pair(static_cast<int>(frame_.cursor_row),
                                                 std::min(frame_.cursor_column, size.columns - 1)));
  }
  std::vector<std::string> rows() const { return terminal_.screen(); }
  std::pair<int, int> cursor() const { return terminal_.cursor(); }
  const Frame& frame() const { return frame_; }

 private:
  FakeTerminal terminal_;
  Frame frame_;
};

ChatPicture typed(const std::string& line) {
  ChatPicture picture;
  picture.line = line;
  picture.cursor = line.size();
  return picture;
}

TEST(ChatFrame, EmptyLine) {
  const Screen screen(typed(""), {80, 24});
  EXPECT_THAT(screen.rows(), ElementsAre("> "));
  EXPECT_EQ(screen.cursor(), std::make_pair(0, 2));
}

TEST(ChatFrame, DraftWithItsMarksAndItsAcceptedPart) {
  ChatPicture picture = typed("is it 暖 ");
  picture.draft = "Yes, it is warm.";
  picture.draft_accepted = 4;
  picture.sentence_ready = true;
  for (const int columns : {80, 140}) {
    const Screen screen(picture, {columns, 24});
    EXPECT_THAT(screen.rows(),
                ElementsAre("> is it 暖 ", "-- draft -- first sentence ready", "Yes, it is warm."));
    EXPECT_EQ(screen.cursor(), std::make_pair(0, 11));
    EXPECT_EQ(screen.frame().rows[2].bytes, "\033[32mYes,\033[0m\033[2m it is warm.\033[0m");
  }
  picture.sound_ready = true;
  EXPECT_EQ(Screen(picture, {80, 24}).rows()[1],
            "-- draft -- first sentence ready -- its sound ready");
  EXPECT_EQ(Screen(picture, {40, 24}).rows()[1], "-- draft -- first sentence ready -- its ");
  picture.draft_accepted = picture.draft.size();
  EXPECT_EQ(Screen(picture, {80, 24}).frame().rows[2].bytes, "\033[32mYes, it is warm.\033[0m");
}

TEST(ChatFrame, AcceptedPartThatEndsInAnotherRow) {
  ChatPicture picture = typed("x");
  picture.draft = "0123456789abcdefghij";
  picture.draft_accepted = 12;
  const Screen screen(picture, {10, 24});
  EXPECT_EQ(screen.frame().rows[2].bytes, "\033[32m0123456789\033[0m");
  EXPECT_EQ(screen.frame().rows[3].bytes, "\033[32mab\033[0m\033[2mcdefghij\033[0m");
}

TEST(ChatFrame, CursorAfterAFullRow) {
  EXPECT_EQ(Screen(typed("12345678"), {10, 24}).cursor(), std::make_pair(1, 0));
  EXPECT_EQ(Screen(typed("123456789"), {10, 24}).cursor(), std::make_pair(1, 1));
  ChatPicture inside = typed("123456789");
  inside.cursor = 8;
  EXPECT_EQ(Screen(inside, {10, 24}).cursor(), std::make_pair(1, 0));
  EXPECT_EQ(Screen(typed("12345678901234567\n8"), {10, 24}).cursor(), std::make_pair(2, 1));
  EXPECT_EQ(Screen(typed("你好你好"), {10, 24}).cursor(), std::make_pair(1, 0));
  EXPECT_EQ(Screen(typed("1你好你好"), {10, 24}).rows()[1], "好");
}

TEST(ChatFrame, LongLineShowsTheRowsAroundItsCursor) {
  std::string pasted;
  for (int i = 0; pasted.size() < 5000; ++i) pasted += "w" + std::to_string(i) + " ";
  ChatPicture picture = typed(pasted);
  picture.draft = std::string(2000, 'd');
  for (const ScreenSize size : {ScreenSize{80, 24}, ScreenSize{140, 24}, ScreenSize{30, 8}}) {
    for (const size_t cursor : {size_t{0}, pasted.size() / 2, pasted.size()}) {
      picture.cursor = cursor;
      const Screen screen(picture, size);
      EXPECT_LE(screen.rows().size(), static_cast<size_t>(size.rows));
      EXPECT_THAT(screen.rows(), testing::Contains("-- draft"));
      EXPECT_THAT(screen.frame().before_cursor,
                  testing::EndsWith(pasted.substr(0, cursor).substr(
                      cursor - std::min<size_t>(cursor, screen.cursor().second > 5 ? 3 : 0))));
    }
    EXPECT_EQ(Screen(typed(pasted), size).cursor().first, size.rows / 2 - 1);
  }
}

TEST(ChatFrame, LongDraftShowsItsEnd) {
  ChatPicture picture = typed("x");
  for (int i = 0; i < 20; ++i) picture.draft += "row " + std::to_string(i) + "\n";
  picture.draft += "last";
  const auto rows = Screen(picture, {80, 24}).rows();
  EXPECT_EQ(rows.size(), 10u);  // the line, the header and eight rows
  EXPECT_EQ(rows.back(), "last");
  EXPECT_EQ(Screen(picture, {80, 5}).rows().size(), 5u);
}

TEST(ChatFrame, AnswerAboveTheLineAndANoticeBelow) {
  ChatPicture picture = typed("next");
  picture.answer = "a\tb is being said";
  picture.notice = "sent when this turn is over";
  EXPECT_THAT(Screen(picture, {12, 24}).rows(),
              ElementsAre("a b is being", "said", "> next", "sent when th"));
  picture.notice = "sent: 你好你好";
  EXPECT_EQ(Screen(picture, {11, 24}).rows().back(), "sent: 你好");
}

TEST(ChatFrame, AnswerThatIsTooLongScrollsAway) {
  const std::string answer(800, 'a');
  EXPECT_EQ(answer_overflow(answer, {80, 24}), 0u);
  EXPECT_EQ(answer_overflow(answer, {80, 10}), 6 * 80u);
  ChatPicture picture = typed("x");
  picture.answer = answer;
  EXPECT_EQ(Screen(picture, {80, 10}).rows().size(), 5u);
}

// Every size has a frame that fits.
TEST(ChatFrame, SmallTerminals) {
  ChatPicture picture = typed("some words 你好 and more of them than there is room for, 😀");
  picture.answer = picture.draft = picture.line + "\n" + picture.line;
  picture.notice = "a notice";
  picture.sentence_ready = picture.sound_ready = true;
  for (int columns = 8; columns < 20; ++columns) {
    for (int rows = 4; rows < 12; ++rows) Screen(picture, {columns, rows});
  }
}

}  // namespace
}  // namespace predgen::cli

#include "cli/terminal/live_region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_terminal.h"

namespace predgen::cli {
namespace {

using testing::ElementsAre;

Frame frame_of(const std::vector<std::string>& rows, size_t cursor_row, size_t cursor_column) {
  Frame frame;
  for (const std::string& row : rows) {
    frame.rows.push_back({row, wrap(row, 1000).back().width});
  }
  frame.cursor_row = cursor_row;
  frame.cursor_column = static_cast<int>(cursor_column);
  frame.before_cursor = rows[cursor_row].substr(0, cursor_column);
  return frame;
}

TEST(LiveRegion, OneFrameTakesTheOthersPlace) {
  FakeTerminal terminal(10, 5);
  LiveRegion region;
  terminal.feed("$ run\r\n");
  terminal.feed(region.draw("", frame_of({"> ab", "one", "two"}, 0, 3), 10));
  EXPECT_THAT(terminal.screen(), ElementsAre("$ run", "> ab", "one", "two"));
  EXPECT_EQ(terminal.cursor(), std::make_pair(1, 3));
  terminal.feed(region.draw("", frame_of({"> a"}, 0, 3), 10));
  EXPECT_THAT(terminal.screen(), ElementsAre("$ run", "> a"));
  EXPECT_TRUE(terminal.cursor_shown());
}

TEST(LiveRegion, BytesOfAFrame) {
  LiveRegion region;
  region.draw("", frame_of({"> a", "x"}, 0, 3), 10);
  EXPECT_EQ(region.draw("said\n", frame_of({"> b", "y"}, 0, 2), 10),
            "\033[?25l\r\0337\033[K\033[B\033[J\0338"  // erase
            "said\r\n"
            "\033[?7l> b\r\ny"
            "\r\033[1A> \033[?7h\033[?25h");
}

TEST(LiveRegion, ScrolledTextIsWrappedByTheTerminal) {
  FakeTerminal terminal(10, 4);
  LiveRegion region;
  terminal.feed(region.draw("", frame_of({"> a", "pane", "pane"}, 0, 3), 10));
  terminal.feed(region.draw("first\nfull row..\nthe third is long\n", frame_of({"> b"}, 0, 3), 10));
  EXPECT_THAT(terminal.scrolled(), ElementsAre("first"));
  EXPECT_THAT(terminal.screen(), ElementsAre("full row..", "the third ", "is long", "> b"));
}

TEST(LiveRegion, AtTheBottomOfTheScreen) {
  FakeTerminal terminal(10, 3);
  LiveRegion region;
  terminal.feed("1\r\n2\r\n");
  terminal.feed(region.draw("", frame_of({"> a", "x"}, 0, 3), 10));
  for (int i = 0; i < 3; ++i) {
    terminal.feed(region.draw("", frame_of({"> a", "x", "y"}, 1, 1), 10));
  }
  EXPECT_THAT(terminal.scrolled(), ElementsAre("1", "2"));
  EXPECT_THAT(terminal.screen(), ElementsAre("> a", "x", "y"));
}

TEST(LiveRegion, WiderThanThoughtIsCut) {
  FakeTerminal terminal(6, 4);
  LiveRegion region;
  terminal.feed("top\r\n");
  for (int i = 0; i < 2; ++i) {
    terminal.feed(region.draw("", frame_of({"> 1234567", "b"}, 0, 2), 6));
    EXPECT_EQ(terminal.screen()[0], "top");
    EXPECT_EQ(terminal.screen()[2], "b");
  }
}

TEST(LiveRegion, NarrowerAndWiderTerminals) {
  FakeTerminal terminal(20, 12);
  LiveRegion region;
  terminal.feed("$ run\r\n");
  const auto draw = [&](int columns, size_t cursor) {
    std::vector<std::string> rows{"> twelve wide"};
    if (columns < 13) rows = {"> twelve", " wide"};
    terminal.feed(region.draw("", frame_of(rows, 0, std::min(cursor, rows[0].size())), columns));
  };
  for (const size_t cursor : {2, 13}) {
    draw(20, cursor);
    terminal.resize(8);
    draw(8, cursor);
    EXPECT_THAT(terminal.screen(), ElementsAre("$ run", "> twelve", " wide"));
    terminal.resize(20);
    draw(20, cursor);
    EXPECT_THAT(terminal.screen(), ElementsAre("$ run", "> twelve wide"));
  }
}

}  // namespace
}  // namespace predgen::cli

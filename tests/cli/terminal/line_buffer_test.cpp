#include "cli/terminal/line_buffer.h"

#include <gtest/gtest.h>

namespace predgen::cli {
namespace {

// The text with a bar where the cursor is.
std::string shown(const LineBuffer& buffer) {
  std::string text = buffer.text();
  return text.insert(buffer.cursor(), "|");
}

LineBuffer with(const std::string& text) {
  LineBuffer buffer;
  buffer.insert(text);
  return buffer;
}

TEST(LineBuffer, InsertsAtTheCursor) {
  LineBuffer buffer = with("ac");
  buffer.move_left();
  buffer.insert("b");
  EXPECT_EQ(shown(buffer), "ab|c");
}

TEST(LineBuffer, MovesByWhatAPersonSees) {
  LineBuffer buffer = with("你👍🏽e\u0301");
  for (const char* expected : {"你👍🏽|e\u0301", "你|👍🏽e\u0301", "|你👍🏽e\u0301",
                               "|你👍🏽e\u0301"}) {
    buffer.move_left();
    EXPECT_EQ(shown(buffer), expected);
  }
  buffer.move_right();
  buffer.move_right();
  EXPECT_EQ(shown(buffer), "你👍🏽|e\u0301");
  buffer.erase_left();
  EXPECT_EQ(shown(buffer), "你|e\u0301");
  buffer.erase_right();
  EXPECT_EQ(shown(buffer), "你|");
  buffer.erase_right();
  EXPECT_EQ(shown(buffer), "你|");
}

TEST(LineBuffer, Words) {
  LineBuffer buffer = with("one two  三 ");
  buffer.move_word_left();
  EXPECT_EQ(shown(buffer), "one two  |三 ");
  buffer.move_word_left();
  EXPECT_EQ(shown(buffer), "one |two  三 ");
  buffer.move_word_right();
  EXPECT_EQ(shown(buffer), "one two|  三 ");
  buffer.erase_word_left();
  EXPECT_EQ(shown(buffer), "one |  三 ");
  buffer.move_to_start();
  buffer.erase_word_left();
  EXPECT_EQ(shown(buffer), "|one   三 ");
}

TEST(LineBuffer, ErasesToTheEnds) {
  LineBuffer buffer = with("abcd");
  buffer.move_left();
  buffer.move_left();
  buffer.erase_to_end();
  EXPECT_EQ(shown(buffer), "ab|");
  buffer.move_left();
  buffer.erase_to_start();
  EXPECT_EQ(shown(buffer), "|b");
  buffer.move_to_end();
  buffer.erase_to_start();
  buffer.erase_left();
  EXPECT_EQ(shown(buffer), "|");
}

}  // namespace
}  // namespace predgen::cli

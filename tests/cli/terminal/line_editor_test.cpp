#include "cli/terminal/line_editor.h"

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

using Kind = Key::Kind;

void type(LineEditor& editor, const std::string& text) { editor.press({.text = text}); }

TEST(LineEditor, SaysWhetherAKeyChangedTheLine) {
  LineEditor editor;
  EXPECT_FALSE(editor.press({Kind::kLeft}));
  EXPECT_TRUE(editor.press({.text = "ab"}));
  EXPECT_TRUE(editor.press({Kind::kLeft}));
  EXPECT_FALSE(editor.press({Kind::kEnter}));
  EXPECT_FALSE(editor.press({Kind::kCancel}));
  EXPECT_TRUE(editor.press({Kind::kLeave}));  // Ctrl-D deletes
  EXPECT_EQ(editor.text(), "a");
}

TEST(LineEditor, EveryKeyDoesItsWork) {
  const auto after = [](Kind kind) {
    LineEditor editor;
    type(editor, "one two three");
    editor.press({Kind::kWordLeft});
    editor.press({kind});
    std::string text = editor.text();
    return text.insert(editor.cursor(), "|");
  };
  EXPECT_EQ(after(Kind::kBackspace), "one two|three");
  EXPECT_EQ(after(Kind::kDelete), "one two |hree");
  EXPECT_EQ(after(Kind::kLeft), "one two| three");
  EXPECT_EQ(after(Kind::kRight), "one two t|hree");
  EXPECT_EQ(after(Kind::kWordLeft), "one |two three");
  EXPECT_EQ(after(Kind::kWordRight), "one two three|");
  EXPECT_EQ(after(Kind::kHome), "|one two three");
  EXPECT_EQ(after(Kind::kEnd), "one two three|");
  EXPECT_EQ(after(Kind::kKillToStart), "|three");
  EXPECT_EQ(after(Kind::kKillToEnd), "one two |");
  EXPECT_EQ(after(Kind::kKillWord), "one |three");
}

TEST(LineEditor, RemembersWhatWasSent) {
  LineEditor editor;
  for (const char* line : {"first", "second", "second"}) {
    type(editor, line);
    EXPECT_EQ(editor.send(), line);
    EXPECT_EQ(editor.text(), "");
  }
  type(editor, "half");
  editor.press({Kind::kUp});
  EXPECT_EQ(editor.text(), "second");
  EXPECT_EQ(editor.cursor(), 6u);
  editor.press({Kind::kUp});
  EXPECT_EQ(editor.text(), "first");  // the same line twice is one
  EXPECT_FALSE(editor.press({Kind::kUp}));
  editor.press({Kind::kDown});
  editor.press({Kind::kDown});
  EXPECT_EQ(editor.text(), "half");
  EXPECT_FALSE(editor.press({Kind::kDown}));
}

TEST(LineEditor, SendingARecalledLineBeginsAtTheEndAgain) {
  LineEditor editor;
  for (const char* line : {"first", "second"}) {
    type(editor, line);
    editor.send();
  }
  editor.press({Kind::kUp});
  editor.press({Kind::kUp});
  type(editor, "!");
  EXPECT_EQ(editor.send(), "first!");
  editor.press({Kind::kUp});
  EXPECT_EQ(editor.text(), "first!");
}

}  // namespace
}  // namespace predgen::cli

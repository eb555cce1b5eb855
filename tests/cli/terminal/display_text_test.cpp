#include "cli/terminal/display_text.h"

#include <gtest/gtest.h>

namespace predgen::cli {
namespace {

std::vector<std::string> rows(const std::string& text, int width, int first_column = 0) {
  std::vector<std::string> result;
  for (const TextRow& row : wrap(text, width, first_column)) {
    result.push_back(text.substr(row.begin, row.end - row.begin));
  }
  return result;
}
using Rows = std::vector<std::string>;

TEST(DisplayText, NothingControlsTheTerminal) {
  const std::string hostile = "a\033[2J\x07\xc2\x9b\xff\tb\r\n\x7f";
  EXPECT_EQ(printable(hostile), "a [2J   ?\tb \n ");
  EXPECT_EQ(printable(hostile).size(), hostile.size());
  EXPECT_EQ(printable("é 你好 😀"), "é 你好 😀");
}

TEST(DisplayText, WidthsOfClusters) {
  const auto width = [](const std::string& text) {
    const Cluster cluster = cluster_at(text, 0);
    EXPECT_EQ(cluster.length, text.size()) << text;
    return cluster.width;
  };
  EXPECT_EQ(width("a"), 1);
  EXPECT_EQ(width("e\u0301"), 1);  // with an accent of its own
  EXPECT_EQ(width("你"), 2);
  EXPECT_EQ(width("😀"), 2);
  EXPECT_EQ(width("👍🏽"), 2);
  EXPECT_EQ(width("👨‍👩‍👧"), 2);
  EXPECT_EQ(width("\t"), 1);
}

TEST(DisplayText, ClusterBefore) {
  const std::string text = "ae\u0301👨‍👩‍👧";
  const size_t family = cluster_before(text, text.size());
  EXPECT_EQ(text.substr(family), "👨‍👩‍👧");
  EXPECT_EQ(cluster_before(text, family), 1u);
  EXPECT_EQ(cluster_before(text, 1), 0u);
}

TEST(DisplayText, RowsAreFullOrBroken) {
  EXPECT_EQ(rows("", 4), (Rows{""}));
  EXPECT_EQ(rows("abcd", 4), (Rows{"abcd"}));
  EXPECT_EQ(rows("abcdef", 4), (Rows{"abcd", "ef"}));
  EXPECT_EQ(rows("abcdef", 4, 2), (Rows{"ab", "cdef"}));
  EXPECT_EQ(rows("abcd\nef\n", 4), (Rows{"abcd", "ef", ""}));
  EXPECT_EQ(rows("abc你好", 4), (Rows{"abc", "你好"}));  // no half characters
}

TEST(DisplayText, RowsEndBetweenWords) {
  EXPECT_EQ(broken_at_words("", 8), "");
  EXPECT_EQ(broken_at_words("one two three", 8), "one two\nthree");
  EXPECT_EQ(broken_at_words("one two  three", 8), "one two\nthree");
  EXPECT_EQ(broken_at_words("12345678 90", 8), "12345678\n90");
  EXPECT_EQ(broken_at_words("12345678 ", 8), "12345678");
  EXPECT_EQ(broken_at_words("a 1234567890", 8), "a\n12345678\n90");
  EXPECT_EQ(broken_at_words("  indented text\n\nand more\n", 10), "  indented\ntext\n\nand more\n");
  EXPECT_EQ(broken_at_words("it is 你好你好", 8), "it is 你\n好你好");
  const std::string text = "A draft of some words, and all of its rows but the last one stay.";
  for (size_t end = 1; end < text.size(); ++end) {
    const auto rows = wrap_words(std::string_view(text).substr(0, end), 12),
               whole = wrap_words(text, 12);
    for (size_t i = 0; i + 1 < rows.size(); ++i) EXPECT_EQ(rows[i].begin, whole[i].begin) << end;
    for (const TextRow& row : rows) EXPECT_LE(row.width, 12);
  }
}

}  // namespace
}  // namespace predgen::cli

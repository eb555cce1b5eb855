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

}  // namespace
}  // namespace predgen::cli

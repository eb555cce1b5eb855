#include "core/text.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

TEST(Text, BlankIsWhiteSpaceOnly) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\r\n\v\f"));
  EXPECT_FALSE(is_blank(" x "));
  EXPECT_FALSE(is_blank("\xc2\xa0"));
}

TEST(Text, TrimmedHasNoBlanksAtItsEnds) {
  EXPECT_EQ(trimmed(" \t\r\n\v\fa b\n "), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(trimmed("\n a \n", " "), "\n a \n");
}

TEST(Text, EscapedHtmlIsTextAgain) {
  EXPECT_EQ(escape_html("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
}

}  // namespace
}  // namespace predgen

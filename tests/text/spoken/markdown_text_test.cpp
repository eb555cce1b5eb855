#include "text/spoken/markdown_text.h"

#include <gtest/gtest.h>

namespace predgen {
namespace {

struct Case {
  const char* markdown;
  const char* text;
};

class PlainText : public testing::TestWithParam<Case> {};

TEST_P(PlainText, LosesItsMarks) {
  EXPECT_EQ(plain_text(GetParam().markdown, "Code omitted."), GetParam().text)
      << GetParam().markdown;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, PlainText,
    testing::Values(
        Case{"", ""}, Case{"[Answer]: 42.", "Answer: 42."},
        Case{"Just text, as it is.", "Just text, as it is."},
        // Emphasis, whole or cut by the end of a sentence.
        Case{"This is **very** *good* and ***both***.", "This is very good and both."},
        Case{"This is __very__ _good_.", "This is very good."}, Case{"**Bold one.", "Bold one."},
        Case{"Rest of it.**", "Rest of it."}, Case{"~~gone~~ here", "gone here"},
        Case{"a snake_case name", "a snake case name"},
        Case{"2*3 and 4 * 5", "2 \u00d7 3 and 4 \u00d7 5"},
        Case{R"(not \*bold\* at all)", "not bold at all"},
        // Headings, rules, quotes.
        Case{"# Overview", "Overview."}, Case{"### Why? ###", "Why?"},
        Case{"## Title\nText goes on.", "Title. Text goes on."}, Case{"#hashtag", "#hashtag"},
        Case{"> quoted\n> words.", "quoted words."}, Case{">> twice", "twice"},
        Case{"---\nText.", "Text."}, Case{"* * *", ""}, Case{"Text.\n***\nMore.", "Text. More."},
        // Lists.
        Case{"- eggs", "eggs."}, Case{"* eggs, and\n* milk!", "eggs, and. milk!"},
        Case{"\u2022 eggs", "eggs."}, Case{"1. First one", "1. First one."},
        Case{"12) **Twelfth** one.", "12. Twelfth one."}, Case{"- [x] done", "done."},
        Case{"- [ ] open", "open."}, Case{"Buy:\n- eggs\n- milk", "Buy: eggs. milk."},
        Case{"2024 was good", "2024 was good"}, Case{"-5 degrees", "-5 degrees"},
        // Links and images.
        Case{"See [the page](https://a.com/b_c?d=1).", "See the page."},
        Case{"See [it](https://a.com/x_(y) \"A title\") now.", "See it now."},
        Case{"![a **cat**](cat.png) sleeps", "a cat sleeps"}, Case{"![](cat.png) here", "here"},
        Case{"See [the page][ref].", "See the page."}, Case{"True[^1] it is[2].", "True it is."},
        Case{"cut off](https://a.com) here.", "cut off here."},
        // Tables.
        Case{"| Name | Age |\n|---|:-:|\n| Ann | 30 |", "Name, Age. Ann, 30."},
        Case{"Name | Age\n--- | ---\nAnn | 30", "Name, Age. Ann, 30."},
        Case{"| **Ann** | | 30 |", "Ann, 30."},
        // Code.
        Case{"Call `get_name()` first.", "Call get name first."},
        Case{"Use ``a*b`` and `*c*`.", "Use a*b and *c*."}, Case{"half a `span", "half a span"},
        Case{"```python\nprint(1)\n```", "Code omitted."},
        Case{"Try:\n```\nx = 1\n# no heading\n```\nThen go.", "Try: Code omitted. Then go."},
        Case{"~~~\nx\n```\ny\n~~~", "Code omitted."}, Case{"```\nwithout end", "Code omitted."},
        Case{"````\n```\n````\nafter", "Code omitted. after"},
        Case{"   ```bash\n   ls\n   ```", "Code omitted."}, Case{"```ls``` lists", "ls lists"},
        // HTML.
        Case{"one<br>two <b>bold</b>", "one two  bold"},
        Case{"a &amp; b &lt; c&nbsp;d", "a & b < c d"},
        Case{"if a < b and c > d", "if a < b and c > d"}, Case{"<x-y z='1'>w</x-y>", "w"},
        Case{"<https://a.com> and <a@b.de>", "https://a.com and a@b.de"},
        // Blocks in blocks, definitions, nested links.
        Case{"> - quoted item", "quoted item."}, Case{"- 1. first", "1. first."},
        Case{"- ```py\n  x.y\n  ```\n- two", "Code omitted. two."},
        Case{"Title\n=====\nText", "Title. Text"}, Case{"[ref]: https://a.com \"Title\"", ""},
        Case{"[![alt](a.png)](https://a.com) here", "alt here"},
        // LaTeX.
        Case{R"(So \(a \leq b\) holds)", "So  a  \u2264  b  holds"},
        Case{R"($\frac{a}{b}$ is $x$)", "a / b is x"}, Case{R"($90^\circ$)", "90\u00b0"},
        Case{"$5 and $10, or $3", "$5 and $10, or $3"}, Case{R"(C:\Users\me)", R"(C:\Users\me)"}));

TEST(PlainText, LongOddTextTakesNoTime) {
  for (const char* piece :
       {"[", "*", "`", "<a ", "](", "|", "> ", "# ", "_a", "\\", "![[", "```\n"}) {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += piece;
    EXPECT_LE(plain_text(text, "").size(), text.size()) << piece;
  }
}

}  // namespace
}  // namespace predgen

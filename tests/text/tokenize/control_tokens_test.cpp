#include <gtest/gtest.h>

#include "text/tokenize/added_tokens.h"

namespace predgen {
namespace {

const std::vector<AddedToken> kAdded{{.id = 1, .content = "<s>", .special = true},
                                     {.id = 2, .content = "#", .special = true},
                                     {.id = 3, .content = "\u2581x", .special = true},
                                     {.id = 4, .content = "plain"}};

TEST(ControlTokens, AreThoseThatPlainTextMustNotGive) {
  EXPECT_EQ(ControlTokens(kAdded).texts(),
            (std::map<TokenId, std::string>{{1, "<s>"}, {2, "#"}, {3, "\u2581x"}}));
}

TEST(ControlTokens, AreNotFoundInEscapedText) {
  const ControlTokens tokens(kAdded);
  for (const std::string text : {"", "a", "<s>", "##", "a<s>b#\u2581x", "<s", "<<s>s>", "plain"}) {
    const std::string escaped = tokens.escape(text);
    tokens.finder().split(
        escaped, [](std::string_view) {},
        [&](TokenId id) { ADD_FAILURE() << "token " << id << " in " << text; });
    EXPECT_EQ(ControlTokens::unescape(escaped), text);
  }
  EXPECT_EQ(tokens.escape("<s plain"), "<s plain");
}

TEST(ControlTokens, StayWhereTheyAreVisible) {
  const ControlTokens tokens(kAdded);
  EXPECT_EQ(tokens.escape("a<s>", {1}), "a<s>");
  EXPECT_NE(tokens.escape("a<s>#", {1}), "a<s>#");
}

TEST(ControlTokens, HalfAnEscapeStaysIllFormed) {
  EXPECT_EQ(ControlTokens::unescape("a\xFF"), "a\xFF");
}

}  // namespace
}  // namespace predgen

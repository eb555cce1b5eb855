#include "cli/terminal/key_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace predgen::cli {
namespace {

using Kind = Key::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

Key key(Kind kind) { return {kind}; }
Key text(const std::string& typed) { return {.text = typed}; }

TEST(KeyDecoder, TextAndControls) {
  EXPECT_THAT(KeyDecoder().push("hi\x01\x05\x15\x17\x0b\x7f\x03\x04\r"),
              ElementsAre(text("hi"), key(Kind::kHome), key(Kind::kEnd), key(Kind::kKillToStart),
                          key(Kind::kKillWord), key(Kind::kKillToEnd), key(Kind::kBackspace),
                          key(Kind::kCancel), key(Kind::kLeave), key(Kind::kEnter)));
}

TEST(KeyDecoder, Sequences) {
  EXPECT_THAT(KeyDecoder().push("\033[A\033OB\033[C\033[D\033[3~\033[H\033[4~\033[1;5D\033f"),
              ElementsAre(key(Kind::kUp), key(Kind::kDown), key(Kind::kRight), key(Kind::kLeft),
                          key(Kind::kDelete), key(Kind::kHome), key(Kind::kEnd),
                          key(Kind::kWordLeft), key(Kind::kWordRight)));
}

TEST(KeyDecoder, AltEnterIsALineBreakInTheText) {
  EXPECT_THAT(
      KeyDecoder().push("a\033\rb\033\nc\r"),
      ElementsAre(text("a"), text("\n"), text("b"), text("\n"), text("c"), key(Kind::kEnter)));
}

TEST(KeyDecoder, AnyCutGivesTheSameKeys) {
  const std::string bytes = "é你\033[3~x\033[200~a\r\nb\033[201~\033[1;5C😀\r";
  const std::vector<Key> whole = KeyDecoder().push(bytes);
  std::string all;
  for (const Key& pressed : whole) all += pressed.text;
  EXPECT_EQ(all, "é你xa\nb😀");
  for (size_t size = 1; size < bytes.size(); ++size) {
    KeyDecoder decoder;
    std::string typed;
    std::vector<Key> others;
    for (size_t at = 0; at < bytes.size(); at += size) {
      for (const Key& pressed : decoder.push(std::string_view(bytes).substr(at, size))) {
        typed += pressed.text;
        if (pressed.kind != Kind::kText) others.push_back(pressed);
      }
    }
    EXPECT_EQ(typed, all) << "pieces of " << size;
    EXPECT_THAT(others, ElementsAre(key(Kind::kDelete), key(Kind::kWordRight), key(Kind::kEnter)));
  }
}

TEST(KeyDecoder, PasteIsTextWhateverItHolds) {
  EXPECT_THAT(KeyDecoder().push("\033[200~one\r\ntwo\rthree\nfour\t\x03\033[A!\033[201~\x03"),
              ElementsAre(text("one\ntwo\nthree\nfour\t[A!"), key(Kind::kCancel)));
}

TEST(KeyDecoder, EscapeAloneIsDroppedWhenNothingFollows) {
  KeyDecoder decoder;
  EXPECT_THAT(decoder.push("\033"), IsEmpty());
  EXPECT_TRUE(decoder.is_waiting());
  decoder.give_up();
  EXPECT_FALSE(decoder.is_waiting());
  EXPECT_THAT(decoder.push("[A"), ElementsAre(text("[A")));
}

TEST(KeyDecoder, GivingUpKeepsPastesAndHalfCharacters) {
  KeyDecoder decoder;
  decoder.push("\033[200~slow");
  decoder.give_up();
  EXPECT_THAT(decoder.push(" paste\033[201~\xc3"), ElementsAre(text("slow paste")));
  decoder.give_up();
  EXPECT_THAT(decoder.push("\xa9"), ElementsAre(text("é")));
}

TEST(KeyDecoder, UnknownIsDroppedAndIllFormedReplaced) {
  EXPECT_THAT(KeyDecoder().push("a\033[99;1~b\033[?1;2cc\x1c"),
              ElementsAre(text("a"), text("b"), text("c")));
  EXPECT_THAT(KeyDecoder().push("\xff\xc3(\r"),
              ElementsAre(text("\uFFFD\uFFFD("), key(Kind::kEnter)));
}

}  // namespace
}  // namespace predgen::cli

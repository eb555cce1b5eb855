#include "voice/clauses/speech_parts.h"

#include <gmock/gmock.h>

#include "text/utf8.h"

namespace predgen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SpeechParts, ShortTextIsOnePart) {
  EXPECT_THAT(speech_parts("  Hello, world. "), ElementsAre("Hello, world."));
  EXPECT_THAT(speech_parts(" \n "), IsEmpty());
}

TEST(SpeechParts, CutsAfterTheLastMarkThatFits) {
  EXPECT_THAT(speech_parts("One two, three four five. Six", 19),
              ElementsAre("One two,", "three four five.", "Six"));
  EXPECT_THAT(speech_parts("One two. Three", 8), ElementsAre("One two.", "Three"));
}

TEST(SpeechParts, CutsAtASpaceWhereThereIsNoMark) {
  EXPECT_THAT(speech_parts("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(speech_parts("one two three", 7), ElementsAre("one two", "three"));
}

TEST(SpeechParts, CutsWordsWithoutEndBetweenCharacters) {
  EXPECT_THAT(speech_parts("\u4f60\u597d\u4f60\u597d\u4f60", 2),
              ElementsAre("\u4f60\u597d", "\u4f60\u597d", "\u4f60"));
  EXPECT_THAT(speech_parts("\u4f60\u597d\u3002\u4f60\u597d\u4f60", 5),
              ElementsAre("\u4f60\u597d\u3002", "\u4f60\u597d\u4f60"));
}

TEST(SpeechParts, LosesNothingOfALongText) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text.append(i % 7 == 0 ? "word, " : "word ");
  size_t words = 0;
  for (const std::string& part : speech_parts(text)) {
    EXPECT_LE(part.size(), 300u);
    for (size_t at = 0; (at = part.find("word", at)) != std::string::npos; ++at) ++words;
  }
  EXPECT_EQ(words, 2000u);
}

}  // namespace
}  // namespace predgen

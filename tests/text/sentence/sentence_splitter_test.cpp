#include "text/sentence/sentence_splitter.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_tokenizer.h"

namespace predgen {
namespace {

struct Step {
  std::string text;
  int64_t num_tokens, seen;  // seen: tokens pushed when it was confirmed; -1: by finish()
  bool operator==(const Step&) const = default;
};
void PrintTo(const Step& s, std::ostream* out) {
  *out << '"' << s.text << "\" " << s.num_tokens << " seen " << s.seen;
}

std::vector<Step> split(const FakeTokenizer& tokenizer, SplitMode mode, const TokenIds& answer) {
  SentenceSplitter splitter(tokenizer, mode);
  std::vector<Step> steps;
  int64_t seen = 0;
  for (const TokenId token : answer) {
    ++seen;
    for (const auto& s : splitter.push(token)) steps.push_back({s.text, s.num_tokens, seen});
  }
  for (const auto& s : splitter.finish()) steps.push_back({s.text, s.num_tokens, -1});
  EXPECT_TRUE(splitter.finish().empty());
  return steps;
}

TokenIds with_stop(TokenIds ids) {
  ids.push_back(FakeTokenizer::kEnd);
  return ids;
}

const FakeTokenizer& words() {
  static const FakeTokenizer tokenizer(
      {"It", " costs", " $4", ".", "99", " Ok", " Dr", "?!", ".\n\n", "!\"", "\xe4\xbd", "\xa0"});
  return tokenizer;
}

TEST(SentenceSplitter, NaturalWaitsOneTokenAndDoesNotCountIt) {
  const TokenIds answer = with_stop(words().encode("It costs $4.99. Ok Dr. It?! Ok."));
  EXPECT_EQ(
      split(words(), SplitMode::kNatural, answer),
      (std::vector<Step>{{"It costs $4.99.", 6, 7}, {"Ok Dr. It?!", 12, 13}, {"Ok.", 14, -1}}));
}

TEST(SentenceSplitter, PaperEndsAtTheFirstTokenWithAMark) {
  const TokenIds answer = with_stop(words().encode("It costs $4.99. Ok?! Dr"));
  EXPECT_EQ(
      split(words(), SplitMode::kPaper, answer),
      (std::vector<Step>{{"It costs $4.", 4, 4}, {"99.", 6, 6}, {"Ok?!", 8, 8}, {"Dr", 9, -1}}));
}

TEST(SentenceSplitter, TokenThatHoldsMarkAndLineBreakConfirmsItself) {
  EXPECT_EQ(split(words(), SplitMode::kNatural, words().encode("It.\n\n Ok")),
            (std::vector<Step>{{"It.", 2, 2}, {"Ok", 3, -1}}));
}

TEST(SentenceSplitter, ClosingQuoteBelongsToTheSentence) {
  EXPECT_EQ(split(words(), SplitMode::kNatural, words().encode("It!\" Ok")),
            (std::vector<Step>{{"It!\"", 2, 3}, {"Ok", 3, -1}}));
}

TEST(SentenceSplitter, CharacterInTwoTokensCountsWithItsLast) {
  const TokenIds answer = words().encode("\xe4\xbd\xa0\xe3\x80\x82\xe4\xbd\xa0");  // 2 + 3 + 2
  EXPECT_EQ(split(words(), SplitMode::kNatural, answer),
            (std::vector<Step>{{"\u4f60\u3002", 5, 7}, {"\u4f60", 7, -1}}));
}

TEST(SentenceSplitter, TwoEndsInOneTokenAreTwoSentences) {
  const FakeTokenizer tokenizer({"Hi", ". Yes. No"});
  EXPECT_EQ(split(tokenizer, SplitMode::kNatural, tokenizer.encode("Hi. Yes. No")),
            (std::vector<Step>{{"Hi.", 2, 2}, {"Yes.", 2, 2}, {"No", 2, -1}}));
}

TEST(SentenceSplitter, BlankAnswerHasNoSentence) {
  EXPECT_TRUE(split(words(), SplitMode::kNatural, with_stop(words().encode(" \n"))).empty());
  EXPECT_TRUE(split(words(), SplitMode::kPaper, {FakeTokenizer::kEnd}).empty());
}

TEST(SentenceSplitter, UnfinishedCharacterAtTheEndIsReplaced) {
  EXPECT_EQ(split(words(), SplitMode::kNatural, words().encode("It\xe4\xbd")),
            (std::vector<Step>{{"It\ufffd", 2, -1}}));
}

TEST(SentenceSplitter, TellsItsTextAsFarAsItsCharactersAreComplete) {
  SentenceSplitter splitter(words(), SplitMode::kNatural);
  const auto push = [&](int64_t word) {
    splitter.push(FakeTokenizer::kFirstWord + word);
    return splitter.text();
  };
  EXPECT_EQ(push(0), "It");
  EXPECT_EQ(push(10), "It");  // begins a character
  EXPECT_EQ(push(11), "It\u4f60");
  EXPECT_EQ(push(10), "It\u4f60");
  splitter.finish();
  EXPECT_EQ(splitter.text(), "It\u4f60\ufffd");
}

}  // namespace
}  // namespace predgen

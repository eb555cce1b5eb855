#include "text/sentence/sentence_splitter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/random.h"
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

/// The clause, found at the first moment; "": none. Every later text has the same one.
std::string clause_of(std::string_view text) {
  std::optional<size_t> found;
  for (size_t length = 0; length <= text.size(); ++length) {
    if (length < text.size() && (text[length] & 0xC0) == 0x80) continue;  // in a character
    const std::optional<size_t> end = first_clause_end(text.substr(0, length));
    EXPECT_TRUE(!found || end == found) << text.substr(0, length);
    found = end;
  }
  return std::string(text.substr(0, found.value_or(0)));
}

TEST(FirstClause, EndsAtAMarkBehindEnoughPlainWords) {
  EXPECT_EQ(clause_of("I'm sorry for any confusion, but I can't."), "I'm sorry for any confusion,");
  EXPECT_EQ(clause_of("The well-known answer is simple: it is 42."),
            "The well-known answer is simple:");
  EXPECT_EQ(clause_of("Cr\u00e8me br\u00fbl\u00e9e is sweet; try it."),
            "Cr\u00e8me br\u00fbl\u00e9e is sweet;");
  EXPECT_EQ(clause_of("Yes, of course, I can help you with that, gladly."),
            "Yes, of course, I can help you with that,");
}

TEST(FirstClause, IsNotShort) {
  EXPECT_EQ(clause_of("Sure, what city?"), "");
  EXPECT_EQ(clause_of("123456789 12345, and"), "123456789 12345,");
  EXPECT_EQ(clause_of("123456789 1234, and"), "");
}

TEST(FirstClause, DoesNotCutNumbersAndDates) {
  EXPECT_EQ(clause_of("About one out of 1,000 people"), "");
  EXPECT_EQ(clause_of("It was first seen on July 25, 2024 in Rome, they say"),
            "It was first seen on July 25, 2024 in Rome,");
}

TEST(FirstClause, StaysOutOfWhatQuotesBracketsAndMarkUpHold) {
  EXPECT_EQ(clause_of("The film \"The good, the bad and the ugly\", which"), "");
  EXPECT_EQ(clause_of("The capital city (since 1990, by law) is, as you know, Berlin"), "");
  EXPECT_EQ(clause_of("You need these **three large eggs, milk** and salt"), "");
  EXPECT_EQ(clause_of("Look at https://example.com, which has it, too"), "");
}

TEST(FirstClause, QuotesAndDashesAreNoPartsOfWords) {
  EXPECT_EQ(clause_of("The film 'The good, the bad and the ugly', which"), "");
  EXPECT_EQ(clause_of("- big red fresh apples, pears"), "");
  EXPECT_EQ(clause_of("Don't be so hard-headed, please"), "Don't be so hard-headed,");
}

TEST(FirstClause, IsSoughtInTheFirst120Characters) {
  const std::string words(119, 'a');
  EXPECT_EQ(clause_of(words + ", and"), words + ",");
  EXPECT_EQ(clause_of("a" + words + ", and"), "");
}

TEST(FirstClause, EndsWithItsSentence) {
  EXPECT_EQ(clause_of("That is all I know. However, there is more, I think."), "");
  EXPECT_EQ(clause_of("Here are three fruits\n- apples, which are red"), "");
}

TEST(FirstClause, WaitsForTheNextWord) {
  EXPECT_EQ(clause_of("I'm sorry for any confusion,"), "");
  EXPECT_EQ(clause_of("I'm sorry for any confusion, "), "");
}

std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

TEST(SpokenOpening, TheClauseAndTheRestAreTheSentence) {
  const std::vector<std::string> pieces{"some words", "some more", "it", " ",  " ",
                                        ", ",         ", ",        "; ", ":",  ".",
                                        "'",          "7",         "(",  "\n", "\u3002"};
  const FakeTokenizer tokenizer({"a"});
  int64_t num_clauses = 0;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    Random random(seed, "answer");
    SentenceSplitter splitter(tokenizer, SplitMode::kNatural);
    SpokenOpening opening(true), silent(false);
    std::string clause, sentence;
    const auto take = [&](const std::vector<SentenceSplitter::Sentence>& sentences) {
      EXPECT_EQ(silent.next_clause(splitter.text()), std::nullopt);
      if (!sentence.empty()) return;
      if (const auto next = opening.next_clause(splitter.text())) clause += *next;
      if (!sentences.empty()) sentence = sentences.front().text;
    };
    for (int i = 0; i < 30; ++i) take(splitter.push_text(pieces[random.below(pieces.size())]));
    take(splitter.finish());
    if (sentence.empty()) continue;
    EXPECT_EQ(silent.of(sentence), sentence);
    EXPECT_EQ(silent.rest_of(sentence), sentence);
    EXPECT_EQ(opening.of(sentence), clause.empty() ? sentence : clause);
    EXPECT_EQ(without_spaces(clause + opening.rest_of(sentence)), without_spaces(sentence));
    num_clauses += !clause.empty();
  }
  EXPECT_GT(num_clauses, 100);
}

}  // namespace
}  // namespace predgen

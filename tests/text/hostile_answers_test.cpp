// What must hold for every answer, however odd and however it was cut into tokens.
#include "tests/text/hostile_answers.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <random>

#include "tests/fakes/fake_tokenizer.h"
#include "text/sentence/sentence_splitter.h"
#include "text/spoken/speech_text.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr std::string_view kOpen = "\u27e6", kClose = "\u27e7";

struct Answer {
  std::string text;
  std::vector<std::string> whole;  // pieces that must not be cut
};

Answer parse(std::string_view marked) {
  Answer answer;
  for (size_t open = 0; (open = marked.find(kOpen)) != std::string_view::npos;) {
    const size_t close = marked.find(kClose, open);
    answer.text += marked.substr(0, open);
    answer.whole.emplace_back(marked.substr(open + kOpen.size(), close - open - kOpen.size()));
    answer.text += answer.whole.back();
    marked.remove_prefix(close + kClose.size());
  }
  answer.text += marked;
  return answer;
}

std::string without_space(std::string_view text) {
  std::string result(text);
  std::erase_if(result, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
  return result;
}

/// The sentences of the answer that these tokens make.
std::vector<std::string> sentences(const std::vector<std::string>& tokens) {
  const FakeTokenizer tokenizer(tokens);
  SentenceSplitter splitter(tokenizer, SplitMode::kNatural);
  std::vector<std::string> result;
  int64_t last = 0;
  const auto take = [&](const std::vector<SentenceSplitter::Sentence>& found, size_t seen) {
    for (const auto& sentence : found) {
      EXPECT_GE(sentence.num_tokens, last);
      EXPECT_LE(sentence.num_tokens, static_cast<int64_t>(seen));
      EXPECT_FALSE(sentence.text.empty());
      last = sentence.num_tokens;
      result.push_back(sentence.text);
    }
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    take(splitter.push(FakeTokenizer::kFirstWord + static_cast<TokenId>(i)), i + 1);
  }
  take(splitter.finish(), tokens.size());
  return result;
}

/// `text` in tokens of 1 to `longest` bytes.
std::vector<std::string> cut(const std::string& text, size_t longest, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size(); i += tokens.back().size()) {
    tokens.push_back(text.substr(i, 1 + random() % longest));
  }
  return tokens;
}

class HostileAnswers : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, HostileAnswers, testing::ValuesIn(hostile_answers()));

TEST_P(HostileAnswers, SentencesDoNotDependOnTokens) {
  const std::string text = parse(GetParam()).text;
  const auto whole = sentences({text});
  EXPECT_EQ(sentences(cut(text, 1, 0)), whole) << "byte by byte";
  for (const unsigned seed : {1u, 2u, 3u}) {
    EXPECT_EQ(sentences(cut(text, 2 + 5 * seed, seed)), whole) << "seed " << seed;
  }
}

TEST_P(HostileAnswers, SentencesHoldAllOfTheText) {
  const std::string text = parse(GetParam()).text;
  std::string joined;
  for (const std::string& sentence : sentences({text})) joined += sentence;
  EXPECT_EQ(without_space(joined), without_space(replace_ill_formed_utf8(text)));
}

TEST_P(HostileAnswers, NothingIsCutInTheMiddle) {
  const Answer answer = parse(GetParam());
  const auto found = sentences({answer.text});
  for (const std::string& piece : answer.whole) {
    EXPECT_TRUE(std::ranges::any_of(
        found, [&](const std::string& s) { return s.find(piece) != std::string::npos; }))
        << piece << " in " << testing::PrintToString(found);
  }
}

void expect_no_markup(const std::string& spoken) {
  for (const char* mark : {"**",     "__",     "~~",     "`",       "](", "[^",  "$$",   "\\(",
                           "\\[",    "\\frac", "\\text", "\\begin", "<b", "</",  "<!--", "&amp;",
                           "&nbsp;", "://",    "www.ex", " | ",     "|-", "## ", "---",  "==="}) {
    EXPECT_EQ(spoken.find(mark), std::string::npos) << mark << " in " << spoken;
  }
  EXPECT_NO_THROW(require_utf8(spoken, "what is spoken"));
  for (size_t i = 0; i < spoken.size();) {
    const auto code = static_cast<utf8proc_int32_t>(next_character(spoken, i));
    const auto category = utf8proc_category(code);
    EXPECT_NE(category, UTF8PROC_CATEGORY_CC) << code << " in " << spoken;
    EXPECT_NE(category, UTF8PROC_CATEGORY_CO) << code << " in " << spoken;
    EXPECT_TRUE(category != UTF8PROC_CATEGORY_CF || code == 0x200c) << code << " in " << spoken;
    EXPECT_FALSE(category == UTF8PROC_CATEGORY_SO && code >= 0x2600) << code << " in " << spoken;
  }
}

TEST_P(HostileAnswers, SpokenTextHasNoMarkup) {
  for (const std::string& sentence : sentences({parse(GetParam()).text})) {
    for (const char* language : {"en-us", "de", "cmn"}) {
      expect_no_markup(speakable_text(sentence, language));
    }
  }
}

/// 100 KB byte by byte: what walks through a sentence again with every token takes minutes.
TEST(LongAnswers, AreReadOnce) {
  for (const char* piece : {"word ", "a", ".", " ", "`", "*", "-", "\n", "One. Two? ", "code();\n",
                            "U.S. ", "1. ", "| a | b |\n", "\u597d", "\u3002", "://", "[1", "> "}) {
    for (const char* beginning : {"", "```\n"}) {
      std::string text = beginning;
      while (text.size() < 100'000) text += piece;
      const FakeTokenizer tokenizer;
      SentenceSplitter splitter(tokenizer, SplitMode::kNatural);
      size_t length = 0;
      for (const char byte : text) {
        for (const auto& s : splitter.push(static_cast<unsigned char>(byte))) {
          length += without_space(s.text).size();
        }
      }
      for (const auto& s : splitter.finish()) length += without_space(s.text).size();
      EXPECT_EQ(length, without_space(text).size()) << piece;
    }
  }
}

}  // namespace
}  // namespace predgen

#include "text/streaming_text.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/fakes/tokenizer_folder.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/utf8.h"

namespace predgen {
namespace {

using Folder = TokenizerFolder;

class StreamingTextTest : public testing::Test {
 protected:
  StreamingTextTest() : tokenizer_(load_tokenizer(TokenizerFiles::read(folder_.write()))) {}
  Folder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(StreamingTextTest, HoldsBackUnfinishedCharacters) {
  StreamingText text(*tokenizer_);
  EXPECT_EQ(text.push(TokenIds{Folder::kHell, 0xF0, 0x9F}), "hell");
  EXPECT_EQ(text.push(TokenIds{0x99}), "");
  EXPECT_EQ(text.push(TokenIds{0x82, '!', 0xC3}), "\U0001F642!");
  EXPECT_EQ(text.push(TokenIds{Folder::kEnd}), "");  // special tokens have no text
  EXPECT_EQ(text.push(TokenIds{0xA9}), "é");
  EXPECT_EQ(text.finish(), "");
  EXPECT_EQ(text.text(), "hell\U0001F642!é");
}

TEST_F(StreamingTextTest, IllFormedBytesBecomeReplacementCharacters) {
  StreamingText text(*tokenizer_);
  EXPECT_EQ(text.push(TokenIds{0x80, 'a', 0xE2, 0x82, 'b'}), "\uFFFDa\uFFFDb");
  EXPECT_EQ(text.push(TokenIds{0xE2, 0x82}), "");
  EXPECT_EQ(text.finish(), "\uFFFD");
  EXPECT_EQ(text.text(), "\uFFFDa\uFFFDb\uFFFD");
}

TEST_F(StreamingTextTest, ATextThatIsCutEndsBeforeAnUnfinishedCharacter) {
  StreamingText text(*tokenizer_);
  EXPECT_EQ(text.push(TokenIds{0x80, 'a', 0xF0, 0x9F}), "\uFFFDa");
  EXPECT_EQ(text.finish(TextEnd::kCut), "");
  EXPECT_EQ(text.text(), "\uFFFDa");
}

TEST_F(StreamingTextTest, PiecesJoinToTheTextOfTheWhole) {
  Random random(3, "streaming");
  // Lead and continuation bytes, so that whole, broken and unfinished characters all occur.
  const TokenIds pool{'a', 0x80, 0x9F, 0xA0, 0xBF, 0xC3, 0xE0, 0xED, 0xF0, 0xF4, 0xFF, 0xC0};
  int replaced = 0;
  for (int round = 0; round < 2000; ++round) {
    TokenIds ids;
    for (uint64_t length = random.below(12); length > 0; --length) {
      ids.push_back(pool[random.below(pool.size())]);
    }
    const std::string whole = replace_ill_formed_utf8(tokenizer_->decode(ids));
    StreamingText text(*tokenizer_);
    std::string joined;
    for (const TokenId id : ids) {
      const std::string piece = text.push(TokenSpan(&id, 1));
      EXPECT_NO_THROW(require_utf8(piece, "piece"));
      joined += piece;
    }
    joined += text.finish();
    EXPECT_EQ(joined, whole);
    EXPECT_EQ(text.text(), whole);
    replaced += whole.find("\uFFFD") != std::string::npos;
  }
  EXPECT_GT(replaced, 1000);
}

TEST(Utf8, CompleteLengthStopsBeforeAnUnfinishedCharacter) {
  EXPECT_EQ(complete_utf8_length(""), 0u);
  EXPECT_EQ(complete_utf8_length("ab"), 2u);
  EXPECT_EQ(complete_utf8_length("aé"), 3u);
  EXPECT_EQ(complete_utf8_length("a\xC3"), 1u);
  EXPECT_EQ(complete_utf8_length("a\xF0\x9F\x99"), 1u);
  EXPECT_EQ(complete_utf8_length("a\xF0\x8F"), 3u);  // can never become a character
  EXPECT_EQ(complete_utf8_length("a\x80\x80\x80\x80"), 5u);
}

}  // namespace
}  // namespace predgen

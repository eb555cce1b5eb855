#include "text/tokenize/sentencepiece_model.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/sentencepiece_file.h"
#include "tests/fakes/temporary_folder.h"
#include "text/streaming_text.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

using File = SentencepieceFile;

class SentencepieceModelTest : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> load() const {
    write_file(folder_ / "tokenizer.model", file_.bytes());
    write_file(folder_ / "tokenizer_config.json", config_.dump());
    return load_tokenizer(TokenizerFiles::read(folder_.path()));
  }

  File file_;
  Json config_ = Json::object();
  TemporaryFolder folder_;
};

TEST_F(SentencepieceModelTest, PutsASpaceInFrontOfATextOnly) {
  EXPECT_EQ(load()->encode("hi hi"), (TokenIds{File::kSpaceHi, File::kSpaceHi}));
  EXPECT_EQ(load()->encode(" hi"), (TokenIds{File::kSpace, File::kSpaceHi}));
  EXPECT_TRUE(load()->encode("").empty());
  EXPECT_EQ(load()->encode_special("hi</s>hi"), (TokenIds{File::kSpaceHi, File::kEnd, File::kHi}));
  config_["legacy"] = true;
  EXPECT_EQ(load()->encode_special("</s>hi</s> hi"),
            (TokenIds{File::kEnd, File::kSpaceHi, File::kEnd, File::kSpaceHi}));
  config_["add_prefix_space"] = false;
  EXPECT_EQ(load()->encode("hi"), (TokenIds{File::kHi}));
  config_ = Json::object();
  file_.adds_space_in_front = false;
  EXPECT_EQ(load()->encode("hi"), (TokenIds{File::kHi}));
}

TEST_F(SentencepieceModelTest, LongTextIsTheSameByWordsAndAsAWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 7 == 0 ? "   hi" : i % 3 == 0 ? " hihi" : " ih?\u00e9";
  const TokenIds words = load()->encode(text);
  file_.joins_words = true;  // a piece with a space, which this text does not have
  EXPECT_EQ(load()->encode(text), words);
  EXPECT_EQ(load()->encode("h i"), (TokenIds{File::kSpace, File::kJoined, File::kI}));
  EXPECT_EQ(load()->encode("h hi"), (TokenIds{File::kSpace, File::kH, File::kSpaceHi}));
}

TEST_F(SentencepieceModelTest, TypedControlTokensAreText) {
  const TokenIds ids = load()->encode("<s>");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), File::kStart), 0);
  EXPECT_EQ(load()->encode_special("<s>"), (TokenIds{File::kStart}));
}

TEST_F(SentencepieceModelTest, DropsTheSpaceWhereATextBegins) {
  const auto tokenizer = load();
  const TokenIds ids{File::kStart, File::kSpaceHi, File::kSpaceHi, File::kEnd};
  EXPECT_EQ(tokenizer->decode(ids), "hi hi");
  EXPECT_EQ(tokenizer->decode_next(ids), " hi hi");
  EXPECT_EQ(tokenizer->decode(TokenIds{File::kSpace, File::kSpaceHi}), " hi");
  StreamingText text(*tokenizer);
  EXPECT_EQ(text.push(TokenIds{File::kStart}), "");
  EXPECT_EQ(text.push(TokenIds{File::kSpace}), "");  // the one that is dropped
  EXPECT_EQ(text.push(TokenIds{File::kSpaceHi}), " hi");
  EXPECT_EQ(text.push(TokenIds{File::kSpaceHi}), " hi");
  file_.adds_space_in_front = false;
  EXPECT_EQ(load()->decode(ids), " hi hi");
}

TEST_F(SentencepieceModelTest, FramesTextAsTheConfigAsks) {
  EXPECT_TRUE(load()->text_frame().before.empty());
  config_ = {{"add_bos_token", true}, {"bos_token", "<s>"}};
  EXPECT_EQ(load()->text_frame().before, (TokenIds{File::kStart}));
  EXPECT_TRUE(load()->text_frame().after.empty());
  config_["add_eos_token"] = true;
  expect_user_error([&] { load(); }, {"tokenizer_config.json", "eos_token"});
  config_["eos_token"] = "</s>";
  EXPECT_EQ(load()->text_frame().after, (TokenIds{File::kEnd}));
}

TEST_F(SentencepieceModelTest, ReadsFilesOfOlderFolders) {
  write_file(folder_ / "added_tokens.json", R"({"<end>": 8, "[X]": 9})");
  write_file(folder_ / "special_tokens_map.json", R"({"eos_token": {"content": "<end>"}})");
  const auto tokenizer = load();
  EXPECT_EQ(tokenizer->stop_tokens(), (TokenIds{8}));
  EXPECT_EQ(tokenizer->encode("hi[X]hi"), (TokenIds{File::kSpaceHi, 9, File::kHi}));
  EXPECT_EQ(tokenizer->decode(TokenIds{File::kHi, 8, 9}), "hi[X]");
  EXPECT_EQ(tokenizer->vocab_size(), 10);
}

TEST_F(SentencepieceModelTest, TokenizerJsonIsStronger) {
  load();
  write_file(folder_ / "tokenizer.json", "{}");
  expect_user_error([&] { load_tokenizer(TokenizerFiles::read(folder_.path())); },
                    {"tokenizer.json", "\"model\""});
}

TEST_F(SentencepieceModelTest, RefusesDamagedFilesAndOtherOptions) {
  const auto refuses = [&](const std::vector<std::string>& parts) {
    expect_user_error([&] { load(); }, parts);
    file_ = File();
    config_ = Json::object();
  };
  file_.removes_spaces = true;
  refuses({"tokenizer.model", "remove_extra_whitespaces"});
  file_.escapes_spaces = false;
  refuses({"tokenizer.model", "escape_whitespaces"});
  file_.space_as_suffix = true;
  refuses({"tokenizer.model", "treat_whitespace_as_suffix"});
  config_["sp_model_kwargs"] = {{"enable_sampling", true}};
  refuses({"tokenizer_config.json", "sp_model_kwargs"});
  const std::string whole = file_.bytes();
  for (const size_t length : {whole.size() / 2, whole.size() - 1}) {
    write_file(folder_ / "tokenizer.model", whole.substr(0, length));
    expect_user_error([&] { load_tokenizer(TokenizerFiles::read(folder_.path())); },
                      {"tokenizer.model"});
  }
}

}  // namespace
}  // namespace predgen

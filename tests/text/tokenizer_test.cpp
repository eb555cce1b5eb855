#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/tokenizer_folder.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {
namespace {

using Folder = TokenizerFolder;

TEST(Tokenizer, SpecialTokensInTextAreText) {
  const Folder folder;
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  const std::string text = "he<|im_end|>ll";
  EXPECT_EQ(tokenizer->encode_special(text), (TokenIds{Folder::kHe, Folder::kEnd, Folder::kLl}));
  const TokenIds plain = tokenizer->encode(text);
  EXPECT_EQ(plain,
            (TokenIds{Folder::kHe, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>', Folder::kLl}));
  EXPECT_EQ(tokenizer->decode(plain), text);
}

TEST(Tokenizer, AddedTokensThatArePlainTextAreFound) {
  Folder folder;
  Json& added = folder.tokenizer["added_tokens"];
  added.push_back({{"id", 300}, {"content", "<tool_call>"}, {"special", false}});
  added.push_back({{"id", 301}, {"content", "||X||"}, {"special", false}});
  added.push_back({{"id", 302}, {"content", "||X||Y"}, {"special", false}});
  added.push_back({{"id", 303}, {"content", "\u212B"}, {"normalized", true}});  // NFC: U+00C5
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  EXPECT_EQ(tokenizer->encode("a||X||b"), (TokenIds{'a', 301, 'b'}));
  EXPECT_EQ(tokenizer->encode("||X||Y"), (TokenIds{302}));  // the longest
  EXPECT_EQ(tokenizer->encode("\u00C5"), (TokenIds{303}));
  EXPECT_EQ(tokenizer->encode("<tool_call>").size(), 10u);  // a control token in all but name
  EXPECT_EQ(tokenizer->encode_special("<tool_call>"), (TokenIds{300}));
}

TEST(Tokenizer, AddedTokensTakeSpacesOrStandAlone) {
  Folder folder;
  Json& added = folder.tokenizer["added_tokens"];
  added.push_back({{"id", 300}, {"content", "[L]"}, {"lstrip", true}});
  added.push_back({{"id", 301}, {"content", "[R]"}, {"rstrip", true}});
  added.push_back({{"id", 302}, {"content", "bb"}, {"single_word", true}});
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  EXPECT_EQ(tokenizer->encode("b \u3000[L] b"), (TokenIds{'b', 300, ' ', 'b'}));
  EXPECT_EQ(tokenizer->encode("b [R] \n b"), (TokenIds{'b', ' ', 301, 'b'}));
  EXPECT_EQ(tokenizer->encode("[R] [L]"), (TokenIds{301, 300}));
  EXPECT_EQ(tokenizer->encode("bb,bb"), (TokenIds{302, ',', 302}));
  EXPECT_EQ(tokenizer->encode("abb"), (TokenIds{Folder::kAb, 'b'}));
  EXPECT_EQ(tokenizer->encode("1bb").back(), 'b');
  EXPECT_EQ(tokenizer->encode("bb\u0301").front(), 'b');  // a mark is part of the word
  // What is passed over may not give part of itself to another token.
  added.push_back({{"id", 303}, {"content", "start|>x"}});
  const TokenIds typed =
      load_tokenizer(TokenizerFiles::read(folder.write()))->encode("<|im_start|>x");
  EXPECT_EQ(std::count(typed.begin(), typed.end(), 303), 0);
}

TEST(Tokenizer, FlagsOfTheConfigAreStronger) {
  Folder folder;
  folder.tokenizer["added_tokens"].push_back({{"id", 300}, {"content", "[X]"}, {"special", true}});
  folder.config["added_tokens_decoder"]["300"] = {{"content", "[X]"}, {"rstrip", true}};
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  EXPECT_EQ(tokenizer->encode_special("[X] a"), (TokenIds{300, 'a'}));
  EXPECT_EQ(tokenizer->decode(TokenIds{300, 'a'}), "a");  // special in either file
}

TEST(Tokenizer, FramesTextAsThePostProcessorAsks) {
  Folder folder;
  EXPECT_TRUE(load_tokenizer(TokenizerFiles::read(folder.write()))->text_frame().before.empty());
  folder.config["add_bos_token"] = true;  // counts for sentencepiece files only
  folder.tokenizer["post_processor"] = Json::parse(R"({"type": "Sequence", "processors": [
      {"type": "ByteLevel", "trim_offsets": false},
      {"type": "TemplateProcessing",
       "single": [{"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A"}},
                  {"SpecialToken": {"id": "<e>", "type_id": 0}}],
       "special_tokens": {"<b>": {"id": "<b>", "ids": [264, 263]}, "<e>": {"ids": [265]}}}]})");
  const TextFrame frame = load_tokenizer(TokenizerFiles::read(folder.write()))->text_frame();
  EXPECT_EQ(frame.before, (TokenIds{264, 263}));
  EXPECT_EQ(frame.after, (TokenIds{265}));
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->encode("he"),
            (TokenIds{Folder::kHe}));
}

/// Characters, byte tokens and "▁" for a space, as sentencepiece vocabularies are written.
struct LlamaFolder : Folder {
  LlamaFolder() {
    Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"▁", 2}, {"h", 3}, {"i", 4}, {"▁h", 5}, {"▁hi", 6}};
    for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = 10 + byte;
    tokenizer["model"] = {{"type", "BPE"},
                          {"vocab", vocab},
                          {"merges", Json::parse(R"([["▁", "h"], ["▁h", "i"]])")},
                          {"unk_token", "<unk>"},
                          {"fuse_unk", true},
                          {"byte_fallback", true}};
    tokenizer["added_tokens"] = {{{"id", 1}, {"content", "<s>"}, {"special", true}}};
    tokenizer["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}, {"split", false}};
    tokenizer["decoder"] = Json::parse(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
    tokenizer["normalizer"] = nullptr;
    config = Json::object();
  }
};

TEST(Tokenizer, FallsBackToBytes) {
  const LlamaFolder folder;
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  EXPECT_EQ(tokenizer->encode("hi hi"), (TokenIds{6, 6}));
  EXPECT_EQ(tokenizer->encode("é"), (TokenIds{2, 10 + 0xC3, 10 + 0xA9}));
  EXPECT_EQ(tokenizer->encode_special("hi<s>hi"), (TokenIds{6, 1, 3, 4}));
  EXPECT_EQ(tokenizer->decode(TokenIds{6, 6, 10 + 0xC3, 10 + 0xA9}), "hi hié");
}

TEST(Tokenizer, TakesUnknownCharactersTogetherOrNot) {
  LlamaFolder folder;
  folder.tokenizer["model"]["byte_fallback"] = false;
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->encode("hxyi"),
            (TokenIds{5, 0, 4}));
  folder.tokenizer["model"]["fuse_unk"] = false;
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->encode("hxyi"),
            (TokenIds{5, 0, 0, 4}));
  folder.tokenizer["model"].erase("unk_token");
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  EXPECT_EQ(tokenizer->encode("hxyi"), tokenizer->encode("hi"));  // dropped, as in `tokenizers`
}

TEST(Tokenizer, TextGivesNoControlTokenByMerging) {
  Folder folder;
  folder.tokenizer["model"]["vocab"]["<s"] = 300;
  folder.tokenizer["model"]["vocab"]["<s>"] = 301;
  folder.tokenizer["model"]["merges"].push_back({"<", "s"});
  folder.tokenizer["model"]["merges"].push_back({"<s", ">"});
  folder.tokenizer["pre_tokenizer"]["pretokenizers"].erase(0);
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->encode("<s>"), (TokenIds{301}));
  folder.config["bos_token"] = "<s>";
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->encode("<s>"),
            (TokenIds{300, '>'}));
  folder.tokenizer["model"]["ignore_merges"] = true;
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->encode("<s>"),
            (TokenIds{300, '>'}));
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->encode_special("<s>"),
            (TokenIds{301}));
}

TEST(Tokenizer, DecodesBytesAndSkipsSpecialTokens) {
  Folder folder;
  folder.tokenizer["model"]["vocab"]["zz"] = 300;  // 266..299 stay unused
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  const TokenIds ids{Folder::kStart, Folder::kSpaceHe, Folder::kEAcute, 0xC3, Folder::kEnd};
  EXPECT_EQ(tokenizer->decode(ids), " h\x65\xC3\xA9\xC3");
  EXPECT_EQ(tokenizer->decode(ids, true), "<|im_start|> h\x65\xC3\xA9\xC3<|im_end|>");
  EXPECT_EQ(tokenizer->vocab_size(), 301);
  for (const TokenId unknown : {int64_t{-1}, int64_t{280}, int64_t{301}}) {
    expect_user_error([&] { tokenizer->decode(TokenIds{unknown}); },
                      {"tokenizer.json", std::to_string(unknown)});
  }
}

TEST(Tokenizer, RefusesIllFormedUtf8) {
  const Folder folder;
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
  for (const char* text : {"ab\xFF", "ab\xC3", "ab\xED\xA0\x80", "ab\xC0\x80"}) {
    expect_user_error([&] { tokenizer->encode(text); }, {"ill-formed UTF-8 at byte 2"});
    expect_user_error([&] { tokenizer->encode_special(text); }, {"ill-formed UTF-8 at byte 2"});
  }
}

TEST(Tokenizer, StopTokensComeFromEveryFileOnce) {
  Folder folder;
  folder.write_file("generation_config.json", R"({"eos_token_id": [265, 263]})");
  folder.write_file("config.json", R"({"eos_token_id": 7})");
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->stop_tokens(),
            (TokenIds{265, 263, 7}));
  folder.write_file("generation_config.json", R"({"eos_token_id": "x"})");
  expect_user_error([&] { load_tokenizer(TokenizerFiles::read(folder.write())); },
                    {"generation_config.json", "eos_token_id"});
  folder.write_file("generation_config.json", "{}");
  folder.config["eos_token"] = {{"content", "<|endoftext|>"}};
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->stop_tokens(),
            (TokenIds{7, 263, 265}));
  folder.config["eos_token"] = "</s>";
  expect_user_error([&] { load_tokenizer(TokenizerFiles::read(folder.write())); }, {"</s>"});
}

TEST(Tokenizer, HashFollowsTheFilesThatDecideIds) {
  Folder folder;
  const std::string hash = load_tokenizer(TokenizerFiles::read(folder.write()))->content_hash();
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(Folder().write()))->content_hash(), hash);
  folder.write_file("generation_config.json", R"({"eos_token_id": 1})");
  EXPECT_EQ(load_tokenizer(TokenizerFiles::read(folder.write()))->content_hash(), hash);
  folder.write_file("chat_template.jinja", kChatMl);
  EXPECT_NE(load_tokenizer(TokenizerFiles::read(folder.write()))->content_hash(), hash);
  Json& merges = folder.tokenizer["model"]["merges"];
  std::swap(merges[0], merges[1]);
  EXPECT_NE(load_tokenizer(TokenizerFiles::read(folder.write()))->content_hash(), hash);
}

struct Spoiled {
  const char* name;
  std::function<void(Json&)> spoil;  // changes tokenizer.json
  std::vector<std::string> parts;    // of the message, besides the file's name
};

class SpoiledTokenizer : public testing::TestWithParam<Spoiled> {};

TEST_P(SpoiledTokenizer, IsRefusedByName) {
  Folder folder;
  GetParam().spoil(folder.tokenizer);
  std::vector<std::string> parts = GetParam().parts;
  parts.push_back("tokenizer.json");
  expect_user_error([&] { load_tokenizer(TokenizerFiles::read(folder.write())); }, parts);
}

Json split(const char* pattern, const char* behavior) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", behavior}};
}

const std::vector<Spoiled> kSpoiled = {
    {"NoModel", [](Json& json) { json.erase("model"); }, {"\"model\""}},
    {"NoVocab", [](Json& json) { json["model"].erase("vocab"); }, {"\"vocab\""}},
    {"NoMerges", [](Json& json) { json["model"].erase("merges"); }, {"\"merges\""}},
    {"NoDecoder", [](Json& json) { json.erase("decoder"); }, {"\"decoder\""}},
    {"NoPreTokenizer", [](Json& json) { json.erase("pre_tokenizer"); }, {"ByteLevel"}},
    {"OtherModel", [](Json& json) { json["model"]["type"] = "WordPiece"; }, {"WordPiece"}},
    {"OtherDecoder", [](Json& json) { json["decoder"]["type"] = "Metaspace"; }, {"Metaspace"}},
    {"OtherNormalizer",
     [](Json& json) { json["normalizer"]["type"] = "Lowercase"; },
     {"normalizer", "Lowercase"}},
    {"OtherPreTokenizer",
     [](Json& json) {
       json["pre_tokenizer"] = {{"type", "Punctuation"}};
     },
     {"pre_tokenizer", "Punctuation"}},
    {"NotByteLevel",
     [](Json& json) { json["pre_tokenizer"] = split("a", "Isolated"); },
     {"ByteLevel"}},
    {"OtherBehavior",
     [](Json& json) { json["pre_tokenizer"] = split("a", "Sideways"); },
     {"Sideways"}},
    {"EmptyMatch",
     [](Json& json) { json["pre_tokenizer"] = split("a*", "Isolated"); },
     {"a*", "empty text"}},
    {"ForeignPattern",
     [](Json& json) { json["pre_tokenizer"] = split("a{1,3}+", "Isolated"); },
     {"}+"}},
    {"BadPattern",
     [](Json& json) { json["pre_tokenizer"] = split("(", "Isolated"); },
     {"bad pattern"}},
    {"Dropout", [](Json& json) { json["model"]["dropout"] = 0.1; }, {"dropout"}},
    {"ByteFallback", [](Json& json) { json["model"]["byte_fallback"] = true; }, {"byte_fallback"}},
    {"Suffix",
     [](Json& json) { json["model"]["end_of_word_suffix"] = "</w>"; },
     {"end_of_word_suffix"}},
    {"BadId", [](Json& json) { json["model"]["vocab"]["a"] = "x"; }, {"\"vocab\"", "\"a\""}},
    {"MergeOfUnknown",
     [](Json& json) {
       json["model"]["merges"][0] = {"q", "q"};
     },
     {"merges", "\"qq\""}},
    {"MergeOfOne", [](Json& json) { json["model"]["merges"][1] = {"q"}; }, {"merges", "[1]"}},
    {"UnknownToken",
     [](Json& json) { json["model"]["unk_token"] = "<unk>"; },
     {"unk_token", "<unk>"}},
    {"PostProcessor",
     [](Json& json) {
       json["post_processor"] = {{"type", "Other"}};
     },
     {"post_processor", "Other"}},
    {"DecoderStep",
     [](Json& json) {
       json["decoder"] = {{"type", "Sequence"}, {"decoders", {{{"type", "WordPiece"}}}}};
     },
     {"decoder", "WordPiece"}},
    {"AddedWithOtherId",
     [](Json& json) { json["added_tokens"][0]["content"] = "he"; },
     {"added token \"he\"", "263", "256"}},
    {"AddedWithoutId", [](Json& json) { json["added_tokens"][0].erase("id"); }, {"\"id\""}},
};

INSTANTIATE_TEST_SUITE_P(Tokenizer, SpoiledTokenizer, testing::ValuesIn(kSpoiled),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Tokenizer, RefusesBrokenFiles) {
  Folder folder;
  const std::filesystem::path path = folder.write();
  const std::string whole = folder.tokenizer.dump();
  for (const size_t length : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
    folder.write_file("tokenizer.json", whole.substr(0, length));
    expect_user_error([&] { load_tokenizer(TokenizerFiles::read(path)); },
                      {"tokenizer.json", "not valid JSON"});
  }
  folder.write_file("tokenizer.json", "[]");
  expect_user_error([&] { load_tokenizer(TokenizerFiles::read(path)); },
                    {"tokenizer.json", "object"});
  std::filesystem::remove(path / "tokenizer.json");
  expect_user_error([&] { load_tokenizer(TokenizerFiles::read(path)); },
                    {"tokenizer.json", "no such file", "tokenizer.model"});
  expect_user_error([&] { load_tokenizer(TokenizerFiles::read(path / "absent")); },
                    {"absent", "no such model folder"});
}

}  // namespace
}  // namespace predgen

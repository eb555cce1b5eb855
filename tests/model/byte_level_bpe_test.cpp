#include "model/byte_level_bpe.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/random.h"
#include "model/tokenizer.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/tokenizer_folder.h"

namespace predgen {
namespace {

using Folder = TokenizerFolder;

TokenIds encode(const Folder& folder, std::string_view text) {
  return load_tokenizer(folder.write())->encode(text);
}

TEST(ByteLevelBpe, MergesTheLowestRankFirst) {
  Folder folder;
  EXPECT_EQ(encode(folder, "hello"), (TokenIds{Folder::kHell, 'o'}));
  EXPECT_EQ(encode(folder, "abc"), (TokenIds{Folder::kAb, 'c'}));
  EXPECT_EQ(encode(folder, " he"), (TokenIds{Folder::kSpaceHe}));
  EXPECT_EQ(encode(folder, " hello"), (TokenIds{' ', Folder::kHell, 'o'}));
  EXPECT_TRUE(encode(folder, "").empty());
  Json& merges = folder.tokenizer["model"]["merges"];
  std::swap(merges[3], merges[4]);
  EXPECT_EQ(encode(folder, "abc"), (TokenIds{'a', Folder::kBc}));
}

TEST(ByteLevelBpe, ReadsMergesWrittenAsStrings) {
  Folder folder;
  folder.tokenizer["model"]["merges"] = {"l l", "h e"};
  EXPECT_EQ(encode(folder, "hello"), (TokenIds{Folder::kHe, Folder::kLl, 'o'}));
}

TEST(ByteLevelBpe, NormalisesBeforeMerging) {
  Folder folder;
  EXPECT_EQ(encode(folder, "e\u0301"), (TokenIds{Folder::kEAcute}));
  folder.tokenizer["normalizer"] = nullptr;
  EXPECT_EQ(encode(folder, "e\u0301"), (TokenIds{'e', 0xCC, 0x81}));
}

TEST(ByteLevelBpe, IgnoreMergesTakesWholeWords) {
  Folder folder;
  folder.tokenizer["model"]["vocab"]["Ġhello"] = 300;
  EXPECT_EQ(encode(folder, " hello"), (TokenIds{' ', Folder::kHell, 'o'}));
  folder.tokenizer["model"]["ignore_merges"] = true;
  EXPECT_EQ(encode(folder, " hello"), (TokenIds{300}));
}

using MergeIds = std::array<TokenId, 3>;  // left, right, merged; in the order of rank

/// Merges the leftmost pair of the lowest rank; false if there is none.
bool merge_once(TokenIds& ids, const std::vector<MergeIds>& merges) {
  for (const auto& [left, right, merged] : merges) {
    for (size_t index = 0; index + 1 < ids.size(); ++index) {
      if (ids[index] != left || ids[index + 1] != right) continue;
      ids[index] = merged;
      ids.erase(ids.begin() + static_cast<int64_t>(index) + 1);
      return true;
    }
  }
  return false;
}

TEST(ByteLevelBpe, EqualsTheDefinitionOnRandomMergesAndWords) {
  Random random(5, "bpe");
  for (int round = 0; round < 20; ++round) {
    Folder folder;
    Json& model = folder.tokenizer["model"];
    model["merges"] = Json::array();
    std::vector<std::string> tokens{"a", "b", "c"};
    std::vector<MergeIds> merges;
    while (merges.size() < 25) {
      const std::string left = tokens[random.below(tokens.size())];
      const std::string right = tokens[random.below(tokens.size())];
      if (model["vocab"].contains(left + right)) continue;
      const auto id = static_cast<TokenId>(300 + merges.size());
      merges.push_back(
          {model["vocab"][left].get<TokenId>(), model["vocab"][right].get<TokenId>(), id});
      model["vocab"][left + right] = id;
      model["merges"].push_back(Json::array({left, right}));
      tokens.push_back(left + right);
    }
    const auto tokenizer = load_tokenizer(folder.write());
    for (int word = 0; word < 50; ++word) {
      std::string text;
      TokenIds bytes;
      for (uint64_t length = 1 + random.below(100); length > 0; --length) {
        text += static_cast<char>('a' + random.below(3));
        bytes.push_back(text.back());
      }
      while (merge_once(bytes, merges)) {
      }
      EXPECT_EQ(tokenizer->encode(text), bytes) << text;
    }
  }
}

TEST(ByteLevelBpe, MergesAVeryLongWord) {
  const Folder folder;
  const TokenIds ids = encode(folder, std::string(400001, 'l'));
  ASSERT_EQ(ids.size(), 200001u);
  EXPECT_EQ(ids.front(), Folder::kLl);
  EXPECT_EQ(ids.back(), 'l');
}

TEST(ByteLevelBpe, ThreadsShareATokenizer) {
  const Folder folder;
  const auto tokenizer = load_tokenizer(folder.write());
  std::vector<TokenIds> results(4);
  {
    std::vector<std::jthread> threads;
    for (TokenIds& result : results) {
      threads.emplace_back([&result, &tokenizer] {
        for (int word = 0; word < 2000; ++word) {
          const TokenIds ids = tokenizer->encode("hell" + std::to_string(word % 97));
          result.insert(result.end(), ids.begin(), ids.end());
        }
      });
    }
  }
  for (const TokenIds& result : results) EXPECT_EQ(result, results[0]);
}

TEST(Tokenizer, SpecialTokensInTextAreText) {
  const Folder folder;
  const auto tokenizer = load_tokenizer(folder.write());
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
  const auto tokenizer = load_tokenizer(folder.write());
  EXPECT_EQ(tokenizer->encode("a||X||b"), (TokenIds{'a', 301, 'b'}));
  EXPECT_EQ(tokenizer->encode("||X||Y"), (TokenIds{302}));  // the longest
  EXPECT_EQ(tokenizer->encode("\u00C5"), (TokenIds{303}));
  EXPECT_EQ(tokenizer->encode("<tool_call>").size(), 10u);  // a control token in all but name
  EXPECT_EQ(tokenizer->encode_special("<tool_call>"), (TokenIds{300}));
}

TEST(Tokenizer, DecodesBytesAndSkipsSpecialTokens) {
  Folder folder;
  folder.tokenizer["model"]["vocab"]["zz"] = 300;  // 266..299 stay unused
  const auto tokenizer = load_tokenizer(folder.write());
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
  const auto tokenizer = load_tokenizer(folder.write());
  for (const char* text : {"ab\xFF", "ab\xC3", "ab\xED\xA0\x80", "ab\xC0\x80"}) {
    expect_user_error([&] { tokenizer->encode(text); }, {"ill-formed UTF-8 at byte 2"});
    expect_user_error([&] { tokenizer->encode_special(text); }, {"ill-formed UTF-8 at byte 2"});
  }
}

TEST(Tokenizer, StopTokensComeFromEveryFileOnce) {
  Folder folder;
  folder.write_file("generation_config.json", R"({"eos_token_id": [265, 263]})");
  folder.write_file("config.json", R"({"eos_token_id": 7})");
  EXPECT_EQ(load_tokenizer(folder.write())->stop_tokens(), (TokenIds{265, 263, 7}));
  folder.write_file("generation_config.json", R"({"eos_token_id": "x"})");
  expect_user_error([&] { load_tokenizer(folder.write()); },
                    {"generation_config.json", "eos_token_id"});
  folder.write_file("generation_config.json", "{}");
  folder.config["eos_token"] = {{"content", "<|endoftext|>"}};
  EXPECT_EQ(load_tokenizer(folder.write())->stop_tokens(), (TokenIds{7, 263, 265}));
  folder.config["eos_token"] = "</s>";
  expect_user_error([&] { load_tokenizer(folder.write()); }, {"</s>"});
}

TEST(Tokenizer, HashFollowsTheFilesThatDecideIds) {
  Folder folder;
  const std::string hash = load_tokenizer(folder.write())->content_hash();
  EXPECT_EQ(load_tokenizer(Folder().write())->content_hash(), hash);
  folder.write_file("generation_config.json", R"({"eos_token_id": 1})");
  EXPECT_EQ(load_tokenizer(folder.write())->content_hash(), hash);
  folder.write_file("chat_template.jinja", kChatMl);
  EXPECT_NE(load_tokenizer(folder.write())->content_hash(), hash);
  Json& merges = folder.tokenizer["model"]["merges"];
  std::swap(merges[0], merges[1]);
  EXPECT_NE(load_tokenizer(folder.write())->content_hash(), hash);
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
  expect_user_error([&] { load_tokenizer(folder.write()); }, parts);
}

Json split(const char* pattern, const char* behavior) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", behavior}};
}

const std::vector<Spoiled> kSpoiled = {
    {"NoModel", [](Json& json) { json.erase("model"); }, {"\"model\""}},
    {"NoVocab", [](Json& json) { json["model"].erase("vocab"); }, {"\"vocab\""}},
    {"NoMerges", [](Json& json) { json["model"].erase("merges"); }, {"\"merges\""}},
    {"NoDecoder", [](Json& json) { json.erase("decoder"); }, {"\"decoder\""}},
    {"NoPreTokenizer", [](Json& json) { json.erase("pre_tokenizer"); }, {"pre_tokenizer"}},
    {"OtherModel", [](Json& json) { json["model"]["type"] = "WordPiece"; }, {"WordPiece"}},
    {"OtherDecoder", [](Json& json) { json["decoder"]["type"] = "Metaspace"; }, {"Metaspace"}},
    {"OtherNormalizer",
     [](Json& json) { json["normalizer"]["type"] = "Lowercase"; },
     {"normalizer", "Lowercase"}},
    {"OtherPreTokenizer",
     [](Json& json) {
       json["pre_tokenizer"] = {{"type", "Digits"}};
     },
     {"pre_tokenizer", "Digits"}},
    {"NotByteLevel",
     [](Json& json) { json["pre_tokenizer"] = split("a", "Isolated"); },
     {"ByteLevel"}},
    {"OtherBehavior",
     [](Json& json) { json["pre_tokenizer"] = split("a", "MergedWithNext"); },
     {"MergedWithNext"}},
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
    {"Lstrip",
     [](Json& json) { json["added_tokens"][0]["lstrip"] = true; },
     {"lstrip", "<|endoftext|>"}},
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
    expect_user_error([&] { load_tokenizer(path); }, {"tokenizer.json", "not valid JSON"});
  }
  folder.write_file("tokenizer.json", "[]");
  expect_user_error([&] { load_tokenizer(path); }, {"tokenizer.json", "object"});
  std::filesystem::remove(path / "tokenizer.json");
  expect_user_error([&] { load_tokenizer(path); }, {"tokenizer.json", "no such file"});
  expect_user_error([&] { load_tokenizer(path / "absent"); }, {"absent", "no such model folder"});
}

TEST(Tokenizer, NamesAByteThatTheVocabularyLacks) {
  Folder folder;
  folder.tokenizer["model"]["vocab"].erase("z");
  const auto tokenizer = load_tokenizer(folder.write());
  EXPECT_EQ(tokenizer->encode("hey").size(), 2u);
  expect_user_error([&] { tokenizer->encode("haze"); }, {"0x7A"});
}

}  // namespace
}  // namespace predgen

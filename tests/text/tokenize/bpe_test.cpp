#include "text/tokenize/bpe.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/random.h"
#include "tests/fakes/tokenizer_folder.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

using Folder = TokenizerFolder;

TokenIds encode(const Folder& folder, std::string_view text) {
  return load_tokenizer(TokenizerFiles::read(folder.write()))->encode(text);
}

TEST(Bpe, MergesTheLowestRankFirst) {
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

TEST(Bpe, ReadsMergesWrittenAsStrings) {
  Folder folder;
  folder.tokenizer["model"]["merges"] = {"l l", "h e"};
  EXPECT_EQ(encode(folder, "hello"), (TokenIds{Folder::kHe, Folder::kLl, 'o'}));
}

TEST(Bpe, NormalisesBeforeMerging) {
  Folder folder;
  EXPECT_EQ(encode(folder, "e\u0301"), (TokenIds{Folder::kEAcute}));
  folder.tokenizer["normalizer"] = nullptr;
  EXPECT_EQ(encode(folder, "e\u0301"), (TokenIds{'e', 0xCC, 0x81}));
}

TEST(Bpe, IgnoreMergesTakesWholeWords) {
  Folder folder;
  folder.tokenizer["model"]["vocab"]["Ġhello"] = 300;
  EXPECT_EQ(encode(folder, " hello"), (TokenIds{' ', Folder::kHell, 'o'}));
  folder.tokenizer["model"]["ignore_merges"] = true;
  EXPECT_EQ(encode(folder, " hello"), (TokenIds{300}));
}

TEST(Bpe, WhatTheVocabularyLacksIsDropped) {
  Folder folder;
  folder.tokenizer["model"]["vocab"].erase("x");
  EXPECT_EQ(encode(folder, "hxe"), (TokenIds{Folder::kHe}));  // its neighbours merge
  EXPECT_TRUE(encode(folder, "xx").empty());
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

TEST(Bpe, EqualsTheDefinitionOnRandomMergesAndWords) {
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
    const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
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

TEST(Bpe, MergesAVeryLongWord) {
  const Folder folder;
  const TokenIds ids = encode(folder, std::string(400001, 'l'));
  ASSERT_EQ(ids.size(), 200001u);
  EXPECT_EQ(ids.front(), Folder::kLl);
  EXPECT_EQ(ids.back(), 'l');
}

TEST(Bpe, ThreadsShareATokenizer) {
  const Folder folder;
  const auto tokenizer = load_tokenizer(TokenizerFiles::read(folder.write()));
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

}  // namespace
}  // namespace predgen

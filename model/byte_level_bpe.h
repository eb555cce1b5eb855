#pragma once

#include <array>
#include <cstdint>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json.h"
#include "model/string_map.h"
#include "model/token_ids.h"
#include "model/tokenizer_json.h"

namespace predgen {

/// The "model" of tokenizer.json, type BPE over the byte alphabet: words to ids by merging the
/// pair of lowest rank first. Thread-safe after construction.
class ByteLevelBpe {
 public:
  /// UserError naming `where` and the field that is missing, malformed or not supported.
  ByteLevelBpe(const TokenizerJson& tokenizer, const std::string& where);

  /// Appends the ids of one word (raw bytes, as the pre-tokenizer cut it). O(n log n).
  void encode(std::string_view word, TokenIds& ids) const;

  /// Token, as spelled in the byte alphabet, to id.
  const StringMap<TokenId>& vocabulary() const { return vocabulary_; }

 private:
  struct Merge {
    int64_t rank;
    TokenId merged;
  };
  struct PairHash {
    size_t operator()(uint64_t pair) const { return pair * 0x9E3779B97F4A7C15ull >> 7; }
  };

  void read_whole_words();
  void read_merges(const Json& model, const std::string& where);
  const Merge* find_merge(TokenId left, TokenId right) const;
  TokenIds merge_bytes(std::string_view word) const;

  StringMap<TokenId> vocabulary_;
  StringMap<TokenId> whole_words_;     // raw bytes to id, only with "ignore_merges"
  std::array<TokenId, 256> byte_ids_;  // -1: the vocabulary lacks the byte
  std::unordered_map<uint64_t, Merge, PairHash> merges_;

  // Natural text repeats its words. Filled up to a limit, never emptied.
  mutable std::shared_mutex cache_mutex_;
  mutable StringMap<TokenIds> cache_;
};

}  // namespace predgen

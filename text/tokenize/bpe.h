#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/string_map.h"
#include "text/token_ids.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenize/word_cache.h"

namespace predgen {

/// Which adjacent tokens merge into one, and in which order.
class BpeMerges {
 public:
  /// Room for `count` merges.
  explicit BpeMerges(size_t count);

  /// The lowest rank merges first; a later merge of the same pair replaces the earlier one. Ids and
  /// ranks are below 2^31.
  void add(TokenId left, TokenId right, size_t rank, TokenId merged);

  /// Merges in `ids`, beginning with the pair of lowest rank, the leftmost among equals, until no
  /// pair can be merged. O(n log n).
  void apply(TokenIds& ids) const;

 private:
  struct Merge {
    uint64_t pair;  // kNoPair: an empty slot
    int32_t rank, merged;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};

  static uint64_t pair_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
  }
  /// The merge of `pair`, or the empty slot where it belongs.
  size_t find(uint64_t pair) const;
  void apply_to_few(TokenIds& ids) const;
  void apply_to_many(TokenIds& ids) const;

  std::vector<Merge> table_;  // open addressing, at most half full
  int shift_ = 63;            // from a hash to a slot
};

/// The "model" of tokenizer.json, type BPE: words to ids by merging the pair of lowest rank first.
/// Thread-safe after construction.
class Bpe {
 public:
  /// What a word is split into before merging: bytes, which the vocabulary spells in the byte
  /// alphabet, or characters.
  enum class Units { kBytes, kCharacters };

  /// Text never produces a token of `control`, not even by a merge. UserError naming `where` and
  /// the field that is missing, malformed or not supported.
  Bpe(const TokenizerJson& tokenizer, Units units, const std::vector<std::string>& control,
      const std::string& where);

  /// Appends the ids of one word (UTF-8 or, for bytes, anything). A byte or character that the
  /// vocabulary lacks is dropped, unless "byte_fallback" or "unk_token" replaces it.
  void encode(std::string_view word, TokenIds& ids) const;

  /// Token, as the file spells it, to id.
  const StringMap<TokenId>& vocabulary() const { return vocabulary_; }

 private:
  static constexpr TokenId kNone = -1;

  TokenId find(std::string_view token) const;
  void read_options(const Json& model, const std::string& where);
  void read_merges(const Json& model, const StringMap<bool>& control, const std::string& where);
  void read_whole_words(const StringMap<bool>& control);
  TokenId unit_id(std::string_view unit) const;
  /// The ids of a word before merging.
  TokenIds start_ids(std::string_view word) const;
  bool add_bytes(std::string_view unit, TokenIds& ids) const;

  StringMap<TokenId> vocabulary_;
  const Units units_;
  std::array<TokenId, 256> byte_ids_;  // kBytes: of the letters; kCharacters: of ASCII
  std::array<TokenId, 256> fallback_;  // of the tokens <0x00> .. <0xFF>
  BpeMerges merges_;
  TokenId unknown_ = kNone;
  bool fuses_unknown_ = false, has_fallback_ = false, takes_whole_words_ = false;
  StringMap<TokenId> whole_words_;  // only with "ignore_merges"
  WordCache cache_;
};

}  // namespace predgen

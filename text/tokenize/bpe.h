#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/string_map.h"
#include "text/token_ids.h"
#include "text/tokenize/bpe_merges.h"
#include "text/tokenize/tokenizer_json.h"
#include "text/tokenize/word_cache.h"

namespace predgen {

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

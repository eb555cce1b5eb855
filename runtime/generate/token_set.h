#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "text/token_ids.h"

namespace predgen {

/// Some tokens of a vocabulary, a bit each: bit i of word w is token 32 w + i, as in the masks of
/// xgrammar and llguidance.
class TokenSet {
 public:
  /// Empty, for the ids below `vocab_size`.
  explicit TokenSet(int64_t vocab_size)
      : vocab_size_(vocab_size), words_(static_cast<size_t>((vocab_size + 31) / 32)) {}

  int64_t vocab_size() const { return vocab_size_; }
  /// `token` is below vocab_size().
  void insert(TokenId token) { word(token) |= bit(token); }
  void erase(TokenId token) { word(token) &= ~bit(token); }
  bool contains(TokenId token) const {
    return token >= 0 && token < vocab_size_ &&
           (words_[static_cast<size_t>(token) / 32] & bit(token)) != 0;
  }
  int64_t count() const {
    int64_t count = 0;
    for (const uint32_t word : words_) count += std::popcount(word);
    return count;
  }
  /// To be filled by a matcher. Bits from vocab_size() on stay 0.
  std::span<uint32_t> words() { return words_; }
  std::span<const uint32_t> words() const { return words_; }

 private:
  static uint32_t bit(TokenId token) { return uint32_t{1} << (token % 32); }
  uint32_t& word(TokenId token) { return words_[static_cast<size_t>(token) / 32]; }

  int64_t vocab_size_;
  std::vector<uint32_t> words_;
};

}  // namespace predgen

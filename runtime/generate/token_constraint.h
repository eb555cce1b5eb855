#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/grammar/grammar.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"

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

/// A state within a language of texts, such as a grammar's or a JSON schema's: what an answer that
/// has come so far may go on with. It knows the texts of the tokenizer's tokens. Tokens that end an
/// answer are not its business: AnswerConstraint allows them where the answer may end.
///
/// Made for a tokenizer, and forked wherever drafts part, so a fork shares what was compiled. The
/// caller owns it. Several threads may fork one state at once; everything else is for one thread
/// at a time.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;

  /// For errors, as the user knows it: "the JSON schema 'person'".
  virtual std::string name() const = 0;
  /// The same state.
  virtual std::unique_ptr<TokenConstraint> fork() const = 0;
  /// Goes on by one token. False if it may not come here; the state is of no use then.
  virtual bool accept(TokenId token) = 0;
  /// Whether the answer may end here.
  virtual bool may_end() const = 0;
  /// Inserts into an empty set every token that accept() takes here, and no other. Asked at most
  /// once for a place of an answer, and only where it matters; a constraint that meets the same
  /// state at many places keeps its set.
  virtual void insert_allowed(TokenSet& tokens) const = 0;
  /// What comes next whatever a model says, at most `most` tokens: a draft that costs no model. The
  /// text may be certain and its tokens not, so it is verified, and may be wrong. Empty: several
  /// texts may follow, or none.
  virtual TokenIds forced(int64_t most) const = 0;
};

/// Answers within a grammar. Its forced tokens are those that the tokenizer makes of the text that
/// must come; where it would say that text otherwise, the longest tokens that fit.
class GrammarConstraint : public TokenConstraint {
 public:
  /// At the beginning of an answer. Borrows the tokenizer, for which the grammar was compiled.
  GrammarConstraint(const std::shared_ptr<const Grammar>& grammar, const Tokenizer& tokenizer)
      : GrammarConstraint(grammar, tokenizer, GrammarMatcher(*grammar)) {}

  std::string name() const override { return grammar_->name(); }
  std::unique_ptr<TokenConstraint> fork() const override;
  bool accept(TokenId token) override { return matcher_.accept(token); }
  bool may_end() const override { return matcher_.may_end(); }
  void insert_allowed(TokenSet& tokens) const override { matcher_.allow(tokens.words()); }
  TokenIds forced(int64_t most) const override;

 private:
  GrammarConstraint(std::shared_ptr<const Grammar> grammar, const Tokenizer& tokenizer,
                    GrammarMatcher matcher)
      : grammar_(std::move(grammar)), tokenizer_(tokenizer), matcher_(std::move(matcher)) {}

  const std::shared_ptr<const Grammar> grammar_;
  const Tokenizer& tokenizer_;
  GrammarMatcher matcher_;
};

}  // namespace predgen

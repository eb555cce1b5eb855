#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "text/token_ids.h"

namespace predgen {

/// What an answer may be, compiled for a tokenizer (GrammarCompiler). Immutable; any thread.
class Grammar {
 public:
  struct Compiled;
  Grammar(std::string name, std::shared_ptr<const Compiled> compiled);

  /// For errors: that of its AnswerForm, or what it is about.
  const std::string& name() const { return name_; }
  int64_t num_bytes() const;

 private:
  friend class GrammarMatcher;
  const std::string name_;
  const std::shared_ptr<const Compiled> compiled_;
};

/// Where a text has come to within a grammar. For one thread at a time; forks share the grammar.
class GrammarMatcher {
 public:
  /// At the beginning.
  explicit GrammarMatcher(const Grammar& grammar);
  ~GrammarMatcher();
  GrammarMatcher(GrammarMatcher&&) noexcept;
  GrammarMatcher& operator=(GrammarMatcher&&) = delete;

  GrammarMatcher fork() const;
  /// Goes on by one token; false if it may not come here, and then nothing has changed. Control
  /// tokens and those that end an answer may come nowhere.
  bool accept(TokenId token);
  /// Whether the text may end here.
  bool may_end() const;
  /// Sets the bits of the tokens that accept() takes, bit i of word w is token 32 w + i. `words`:
  /// as many as the tokenizer's vocabulary needs, all 0.
  void allow(std::span<uint32_t> words) const;
  /// The bytes that must come next, whatever a model says; they may end within a character.
  std::string forced_text() const;
  /// The longest tokens that make up these bytes. A last one that may be a part of another is left
  /// out.
  TokenIds forced_tokens() const;

 private:
  struct State;
  explicit GrammarMatcher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace predgen

#pragma once

#include <memory>
#include <string>

#include "runtime/generate/token_constraint.h"
#include "text/grammar/grammar.h"
#include "text/tokenizer.h"

namespace predgen {

/// Answers within a grammar. Its forced tokens are those that the tokenizer makes of the text that
/// must come; where it would say that text otherwise, the longest tokens that fit.
class GrammarConstraint : public TokenConstraint {
 public:
  /// At the beginning of an answer. Borrows the tokenizer, for which the grammar was compiled.
  GrammarConstraint(std::shared_ptr<const Grammar> grammar, const Tokenizer& tokenizer)
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

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/generate/token_set.h"
#include "text/token_ids.h"

namespace predgen {

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

}  // namespace predgen

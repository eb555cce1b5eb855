#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/generate/token_constraint.h"
#include "text/token_ids.h"

namespace predgen {

// Shapes: N rows of logits, V vocabulary of the model.

/// Instead of a token: none may follow, and the answer may not end.
constexpr TokenId kNoToken = -1;

/// An answer has come to where its constraint allows no token.
class DeadEnd : public UserError {
 public:
  using UserError::UserError;
};

/// A constraint along the answers to one request. Each place of an answer that a draft or a pass
/// reaches is made once, by a fork of the place before it, and so is its set of allowed tokens,
/// however often the place comes up: the drafts of a turn begin alike. When it knows many places,
/// it forgets those that are not asked for.
///
/// Used by one thread at a time. Answers that are made at the same time have one each.
class AnswerConstraint {
 public:
  class Place;
  /// Null: outside the constraint, so nothing follows.
  using PlacePtr = std::shared_ptr<Place>;

  /// `start`: at the beginning of an answer. `stop_tokens`: as in the GenerationConfig.
  /// `vocab_size`: of the tokenizer; what a model has beyond it is never allowed.
  AnswerConstraint(std::shared_ptr<const TokenConstraint> start, TokenSpan stop_tokens,
                   int64_t vocab_size);

  const TokenIds& stop_tokens() const;
  /// Where `answer` has come to.
  PlacePtr after(TokenSpan answer);
  /// DeadEnd: after `length` tokens of the answer.
  [[noreturn]] void fail_at_dead_end(int64_t length) const;

 private:
  struct Rules;
  void restart(TokenSpan answer);

  const std::shared_ptr<const TokenConstraint> start_;
  const std::shared_ptr<Rules> rules_;
  TokenIds answer_;              // that was asked for last
  size_t begin_ = 0;             // tokens of it before the first place that is known
  std::vector<PlacePtr> trail_;  // from there on, along it
};

/// What may follow at one place of an answer.
class AnswerConstraint::Place {
 public:
  /// `state`: null if the answer has ended, so that nothing follows.
  Place(std::shared_ptr<Rules> rules, std::unique_ptr<TokenConstraint> state);

  /// The place after `token`, null if it may not come here.
  PlacePtr next(TokenId token);
  /// Tokens that may come here, those that end the answer among them.
  const TokenSet& allowed();
  /// What comes here whatever a model says, at most `most` tokens, each of them allowed; the end,
  /// too, if nothing else may follow.
  TokenIds forced(int64_t most);

 private:
  PlacePtr make_next(TokenId token);
  /// The token that ends the answer, the first of several, if nothing else may follow.
  std::optional<TokenId> forced_end();

  const std::shared_ptr<Rules> rules_;
  const std::unique_ptr<TokenConstraint> state_;
  std::optional<TokenSet> allowed_;
  std::vector<std::pair<TokenId, PlacePtr>> next_;
};

/// `place`, and where each of `tokens` leads to from there.
std::vector<AnswerConstraint::PlacePtr> places_along(AnswerConstraint::PlacePtr place,
                                                     TokenSpan tokens);

/// How many tokens of `draft` may come at `place`, one after the other.
int64_t count_allowed(AnswerConstraint::PlacePtr place, TokenSpan draft);

/// The likeliest token that may come at each row's place, the lowest id among equals; kNoToken if
/// there is none.
TokenIds likeliest_allowed(const at::Tensor& logits_NV,
                           std::span<const AnswerConstraint::PlacePtr> places);

/// Of each row the likeliest token that may come where the row before it has led to; the first at
/// `place`. Ends early where none may.
TokenIds likeliest_path(const at::Tensor& logits_NV, AnswerConstraint::PlacePtr place);

/// The logits with -inf for tokens that may not come at the rows' places. A copy.
at::Tensor allowed_logits(const at::Tensor& logits_NV,
                          std::span<const AnswerConstraint::PlacePtr> places);

/// bool [V] on a device: tokens that may come at `place`.
at::Tensor allowed_tokens(const AnswerConstraint::PlacePtr& place, int64_t vocab_size,
                          at::Device device);

}  // namespace predgen

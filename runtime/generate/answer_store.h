#pragma once

#include <cstdint>
#include <vector>

#include "text/token_ids.h"

namespace predgen {

/// Answers that the model gave before, to other prompts, as a source of drafts: what followed the
/// last tokens there, when they stood in one of them. Does not change; shared by conversations.
/// (Retrieval-based speculative decoding: He et al. 2023, arXiv 2311.08252.)
class AnswerStore {
 public:
  /// Each with the last tokens of its prompt in front, so that its beginning is found, too.
  explicit AnswerStore(const std::vector<TokenIds>& answers);

  int64_t num_tokens() const { return static_cast<int64_t>(order_.size()); }

  /// Ways on after `tokens`, each of at most `max_tokens`, no two with the same first two tokens:
  /// those behind the longest match first, of these what was said most often.
  std::vector<TokenIds> find(TokenSpan tokens, int64_t max_paths, int64_t max_tokens) const;

 private:
  /// A part of order_: places behind the same tokens.
  struct Range {
    size_t begin = 0, end = 0;
  };
  /// The token that stands `back` tokens before the place; kNone where its answer begins later.
  TokenId before(uint32_t place, size_t back) const;
  /// Of those in `range` the places with this token `back` tokens before them.
  Range narrowed(const Range& range, TokenId token, size_t back) const;

  static constexpr TokenId kNone = -1;  // between two answers
  TokenIds text_;
  std::vector<uint32_t> order_;  // places of text_, by the tokens before them, the nearest first
};

}  // namespace predgen

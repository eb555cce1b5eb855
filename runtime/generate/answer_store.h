#pragma once

#include <cstdint>
#include <vector>

#include "text/token_ids.h"

namespace predgen {

/// The model's earlier answers to other prompts, as a source of drafts: what followed the last
/// tokens where one of the answers has them. Immutable; shared by conversations. (Retrieval-based
/// speculative decoding: He et al. 2023, arXiv 2311.08252.)
class AnswerStore {
 public:
  /// Each preceded by the last tokens of its prompt, so that its beginning is found too.
  explicit AnswerStore(const std::vector<TokenIds>& answers);

  int64_t num_tokens() const { return static_cast<int64_t>(order_.size()); }

  /// Continuations of `tokens`, each of at most `max_tokens`, no two with the same first two
  /// tokens: longest match first, among equal matches the most frequent first.
  std::vector<TokenIds> find(TokenSpan tokens, int64_t max_paths, int64_t max_tokens) const;

 private:
  /// A part of order_: places after the same tokens.
  struct Range {
    size_t begin = 0, end = 0;
  };
  /// The token `back` tokens before the place; kNone if its answer begins later.
  TokenId before(uint32_t place, size_t back) const;
  /// The places in `range` with this token `back` tokens before them.
  Range narrowed(const Range& range, TokenId token, size_t back) const;

  static constexpr TokenId kNone = -1;  // between two answers
  TokenIds text_;
  std::vector<uint32_t> order_;  // places in text_, sorted by the tokens before, nearest first
};

}  // namespace predgen

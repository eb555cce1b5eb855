#pragma once

#include <cstdint>
#include <vector>

#include "text/token_ids.h"

namespace predgen {

/// Answers that were drafted and given up in this turn: the next words may make one right again.
class CandidatePool {
 public:
  explicit CandidatePool(int64_t max_candidates) : max_candidates_(max_candidates) {}

  /// Makes it the newest one. Candidates that are its prefixes are dropped; if it is a prefix of
  /// another one, that becomes the newest.
  void add(TokenIds candidate);
  void clear() { candidates_.clear(); }

  const std::vector<TokenIds>& newest_first() const { return candidates_; }

 private:
  int64_t max_candidates_;
  std::vector<TokenIds> candidates_;
};

}  // namespace predgen

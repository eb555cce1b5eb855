#include "runtime/speculate/candidate_pool.h"

#include <algorithm>

namespace predgen {
namespace {

bool begins_with(const TokenIds& tokens, const TokenIds& beginning) {
  return beginning.size() <= tokens.size() &&
         std::ranges::equal(beginning, TokenSpan(tokens).first(beginning.size()));
}

}  // namespace

void CandidatePool::add(TokenIds candidate) {
  const auto longer = std::ranges::find_if(
      candidates_, [&](const TokenIds& other) { return begins_with(other, candidate); });
  if (longer != candidates_.end()) candidate = *longer;
  std::erase_if(candidates_, [&](const TokenIds& other) { return begins_with(candidate, other); });
  candidates_.insert(candidates_.begin(), std::move(candidate));
  if (std::ssize(candidates_) > max_candidates_) candidates_.pop_back();
}

}  // namespace predgen

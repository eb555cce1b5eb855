#include "runtime/generate/answer_source.h"

#include <algorithm>

namespace predgen {
namespace {

constexpr int64_t kMaxPaths = 4;

}  // namespace

std::optional<std::vector<TokenIds>> AnswerSource::propose(TokenSpan tokens,
                                                           std::span<const TokenIds> /*drafts*/,
                                                           const GenerationConfig& /*config*/,
                                                           const DraftRoom& room) {
  if (room.left() < 1) return std::vector<TokenIds>();
  // Half of a pass for the likeliest continuation: the tokens at its end are seldom right.
  const int64_t longest = std::clamp<int64_t>(room.max_tokens / 2, 1, room.left());
  return store_->find(tokens, kMaxPaths, longest);
}

}  // namespace predgen

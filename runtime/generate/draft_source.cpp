#include "runtime/generate/draft_source.h"

#include <algorithm>

namespace predgen {
namespace {

constexpr size_t kLongestNgram = 4;

struct Match {
  size_t length = 0;
  TokenSpan continuation;
};

/// Every place in `text` that has the last token of `tokens` and something after it, the latest
/// first.
void find_matches(TokenSpan text, TokenSpan tokens, size_t shortest, std::vector<Match>& matches) {
  for (size_t end = text.size(); end-- > 1;) {
    size_t length = 0;
    while (length < std::min({kLongestNgram, end, tokens.size()}) &&
           text[end - 1 - length] == tokens[tokens.size() - 1 - length]) {
      ++length;
    }
    if (length >= shortest) matches.push_back({length, text.subspan(end)});
  }
}

}  // namespace

std::optional<std::vector<TokenIds>> NgramSource::propose(TokenSpan tokens,
                                                          std::span<const TokenIds> drafts,
                                                          const GenerationConfig& config,
                                                          const DraftRoom& room) {
  std::vector<Match> matches;
  for (const TokenIds& draft : drafts) find_matches(draft, tokens, 1, matches);
  if (matches.empty() && !drafts.empty()) {
    const TokenSpan newest = drafts.front();
    const size_t place = tokens.size() - static_cast<size_t>(config.answer_begin);
    if (place < newest.size()) matches.push_back({1, newest.subspan(place)});
  }
  find_matches(tokens, tokens, 2, matches);
  std::ranges::stable_sort(matches, std::greater<>(), &Match::length);
  std::vector<TokenIds> paths;
  for (const Match& match : matches) {
    if (std::ssize(paths) == max_paths_) break;
    const int64_t longest = room.tree.num_known(match.continuation) + room.left();
    const TokenSpan path =
        match.continuation.first(std::min(match.continuation.size(), static_cast<size_t>(longest)));
    const bool known = std::ranges::any_of(paths, [&](const TokenIds& other) {
      return path.size() <= other.size() &&
             std::ranges::equal(path, TokenSpan(other).first(path.size()));
    });
    if (!known) paths.emplace_back(path.begin(), path.end());
  }
  return paths;
}

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

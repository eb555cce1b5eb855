#include "runtime/generate/jacobi_draft.h"

#include <algorithm>

#include "runtime/generate/choices.h"

namespace predgen {

JacobiDraft::JacobiDraft(int64_t window, TokenSpan guess, const Random& random)
    : window_(window), random_(random), guess_(guess.begin(), guess.end()) {}

TokenSpan JacobiDraft::next(const Sequence& sequence, int64_t max_new_tokens,
                            const Refill& refill) {
  width_ = std::min({window_ - 1, max_new_tokens - 1, sequence.capacity() - sequence.size()});
  if (const int64_t missing = width_ - std::ssize(guess_); missing > 0 && refill) {
    TokenIds tokens(sequence.tokens().begin(), sequence.tokens().end());
    tokens.insert(tokens.end(), guess_.begin(), guess_.end());
    const TokenIds more = refill(tokens, missing);
    guess_.insert(guess_.end(), more.begin(), more.end());
  }
  while (static_cast<int64_t>(guess_.size()) < width_) {
    guess_.push_back(sequence.tokens()[random_.below(sequence.tokens().size())]);
  }
  return TokenSpan(guess_).first(static_cast<size_t>(width_));
}

TokenIds JacobiDraft::take(const GenerationConfig& config, const at::Tensor& logits_NV,
                           TokenSpan before) {
  TokenTree tree;
  const std::vector<int64_t> window =
      tree.add(TokenSpan(guess_).first(static_cast<size_t>(width_)));
  const Choices choices(config, logits_NV, before, tree);
  const std::vector<int64_t> path = choices.follow();
  TokenIds next = choices.guess_after(path, window);
  // After the window the rest of the old guess keeps its place.
  next.insert(next.end(), guess_.begin() + std::min<int64_t>(width_ + 1, std::ssize(guess_)),
              guess_.end());
  guess_ = std::move(next);
  return choices.found(path);
}

}  // namespace predgen

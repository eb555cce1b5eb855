#include "runtime/engine/sequence.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {

TokenSpan Sequence::pending() const {
  PREDGEN_CHECK(num_cached() <= size(), "a draft is cached: append() or truncate() first");
  return tokens().subspan(static_cast<size_t>(num_cached()));
}

void Sequence::append(TokenSpan tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  truncate(size());
}

void Sequence::truncate(int64_t new_size) {
  PREDGEN_CHECK(new_size >= 0 && new_size <= size(), "truncate to {} of {}", new_size, size());
  tokens_.resize(static_cast<size_t>(new_size));
  state_->return_to(std::min(num_cached(), std::max<int64_t>(new_size - 1, 0)));
}

int64_t Sequence::replace(TokenSpan tokens) {
  state_->return_to(num_kept_by(tokens));
  num_settled_ = num_common_with(tokens);
  tokens_.assign(tokens.begin(), tokens.end());
  return num_cached();
}

int64_t Sequence::num_common_with(TokenSpan tokens) const {
  return std::ranges::mismatch(tokens_, tokens).in2 - tokens.begin();
}

int64_t Sequence::num_kept_by(TokenSpan tokens) const {
  return state_->return_point(std::min(
      {num_cached(), num_common_with(tokens), std::max<int64_t>(std::ssize(tokens) - 1, 0)}));
}

Sequence Sequence::fork() const {
  Sequence copy(state_->fork());
  copy.tokens_ = tokens_;
  copy.num_settled_ = num_settled_;
  copy.truncate(size());
  return copy;
}

}  // namespace predgen

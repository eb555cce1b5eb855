#include "serve/openai/kept_sequences.h"

#include <algorithm>
#include <utility>

namespace predgen::serve {

Sequence KeptSequences::take(const std::string& client, TokenSpan prompt) {
  auto best = kept_.end();
  std::pair<int64_t, int64_t> most;  // tokens that stay cached, and common ones
  for (auto one = kept_.begin(); one != kept_.end(); ++one) {
    if (one->client != client) continue;
    const int64_t common = one->sequence.num_common_with(prompt);
    if (common == 0) continue;
    const std::pair kept(one->sequence.num_kept_by(prompt), common);
    if (kept <= most) continue;
    best = one;
    most = kept;
  }
  if (best == kept_.end()) {
    Sequence fresh = engine_.make_sequence(capacity_);
    fresh.append(prompt);
    return fresh;
  }
  // A sequence that the prompt does not continue from its end may be another conversation's.
  const bool goes_on = most.second == best->sequence.size();
  Sequence taken = goes_on ? std::move(best->sequence) : best->sequence.fork();
  if (goes_on) {
    kept_.erase(best);
  } else {
    kept_.splice(kept_.begin(), kept_, best);
  }
  taken.replace(prompt);
  return taken;
}

void KeptSequences::keep(const std::string& client, Sequence sequence) {
  std::erase_if(kept_, [&](const Kept& old) {
    return old.client == client &&
           old.sequence.num_common_with(sequence.tokens()) == old.sequence.size();
  });
  kept_.push_front({client, std::move(sequence)});
  while (std::ssize(kept_) > max_kept_) kept_.pop_back();
}

bool KeptSequences::drop_all() {
  const bool held = !kept_.empty();
  kept_.clear();
  return held;
}

}  // namespace predgen::serve

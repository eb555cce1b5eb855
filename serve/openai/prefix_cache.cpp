#include "serve/openai/prefix_cache.h"

#include <algorithm>
#include <utility>

namespace predgen::serve {

Sequence PrefixCache::take(const std::string& client, TokenSpan prompt) {
  auto best = cached_.end();
  std::pair<int64_t, int64_t> most;  // tokens that stay cached, and common ones
  for (auto one = cached_.begin(); one != cached_.end(); ++one) {
    if (one->client != client) continue;
    const int64_t common = one->sequence.num_common_with(prompt);
    if (common == 0) continue;
    const std::pair kept(one->sequence.num_kept_by(prompt), common);
    if (kept <= most) continue;
    best = one;
    most = kept;
  }
  if (best == cached_.end()) {
    Sequence fresh = engine_.make_sequence(capacity_);
    fresh.append(prompt);
    return fresh;
  }
  // A sequence that the prompt does not continue from its end may be another conversation's.
  const bool goes_on = most.second == best->sequence.size();
  Sequence taken = goes_on ? std::move(best->sequence) : best->sequence.fork();
  if (goes_on) {
    cached_.erase(best);
  } else {
    cached_.splice(cached_.begin(), cached_, best);
  }
  taken.replace(prompt);
  return taken;
}

void PrefixCache::keep(const std::string& client, Sequence sequence) {
  std::erase_if(cached_, [&](const Cached& old) {
    return old.client == client &&
           old.sequence.num_common_with(sequence.tokens()) == old.sequence.size();
  });
  cached_.push_front({client, std::move(sequence)});
  while (std::ssize(cached_) > max_cached_) cached_.pop_back();
}

bool PrefixCache::drop_all() {
  const bool held = !cached_.empty();
  cached_.clear();
  return held;
}

}  // namespace predgen::serve

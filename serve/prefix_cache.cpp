#include "serve/prefix_cache.h"

#include <algorithm>
#include <utility>

namespace predgen::serve {

namespace {

/// Tokens that a prefix has at least, and by how many more than are cached, or stored, it is read
/// or written.
constexpr int64_t kLeastStored = 128, kWorthIt = 64;

/// All but the last one, which always runs.
TokenSpan before_last(TokenSpan prompt) { return prompt.first(prompt.size() - 1); }

}  // namespace

std::pair<std::list<PrefixCache::Cached>::iterator, std::pair<int64_t, int64_t>> PrefixCache::find(
    const std::string& client, TokenSpan prompt) {
  auto best = cached_.end();
  std::pair<int64_t, int64_t> most;
  for (auto one = cached_.begin(); one != cached_.end(); ++one) {
    if (one->client != client) continue;
    const int64_t common = one->sequence.num_common_with(prompt);
    if (common == 0) continue;
    const std::pair kept(one->sequence.num_kept_by(prompt), common);
    if (kept <= most) continue;
    best = one;
    most = kept;
  }
  return {best, most};
}

Sequence PrefixCache::take(const std::string& client, TokenSpan prompt) {
  if (auto loaded = load(client, prompt, find(client, prompt).second.first)) {
    return std::move(*loaded);
  }
  const auto [best, most] = find(client, prompt);
  if (best == cached_.end()) {
    Sequence fresh = engine_.make_sequence(capacity_);
    fresh.append(prompt);
    return fresh;
  }
  // A sequence that the prompt does not continue from its end may be another conversation's.
  const bool goes_on = most.second == best->sequence.size();
  if (!goes_on) store(client, best->sequence, most.first);
  Sequence taken = goes_on ? std::move(best->sequence) : best->sequence.fork();
  if (goes_on) {
    cached_.erase(best);
  } else {
    cached_.splice(cached_.begin(), cached_, best);
  }
  taken.replace(prompt);
  return taken;
}

bool PrefixCache::is_worth_loading(const std::string& client, TokenSpan prompt,
                                   int64_t num_cached) const {
  return store_ != nullptr && !prompt.empty() &&
         store_->num_common(client, before_last(prompt)) >= num_cached + kWorthIt;
}

std::optional<Sequence> PrefixCache::load(const std::string& client, TokenSpan prompt,
                                          int64_t num_kept) {
  if (!is_worth_loading(client, prompt, num_kept)) return std::nullopt;
  KvRows rows;
  {
    const EngineLock::Release rest(engine_lock_);
    rows = store_->read(client, before_last(prompt));
  }
  if (rows.empty()) return std::nullopt;
  Sequence loaded = engine_.make_sequence(capacity_);
  loaded.load(prompt, rows);
  return loaded;
}

void PrefixCache::store(const std::string& client, Sequence& sequence, int64_t length) {
  if (store_ == nullptr || length < kLeastStored) return;
  const TokenSpan tokens = sequence.tokens().first(static_cast<size_t>(length));
  if (store_->num_common(client, tokens) + kWorthIt > length) return;
  store_->keep(client, tokens, sequence.rows(length));
}

void PrefixCache::keep(const std::string& client, Sequence sequence, int64_t num_static) {
  // One that begins like what is stored, and goes on otherwise, may do so each time: what it has in
  // common with the next one is stored then.
  num_static = std::min(num_static, sequence.num_cached());
  if (store_ != nullptr && store_->num_common(client, sequence.tokens()) < kWorthIt) {
    store(client, sequence, num_static);
  }
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

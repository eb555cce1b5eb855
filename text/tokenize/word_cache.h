#pragma once

#include <string_view>

#include "core/mutex.h"
#include "text/string_map.h"
#include "text/token_ids.h"

namespace predgen {

/// Caches the ids of encoded words, as natural text repeats its words. Filled up to a limit, never
/// emptied. Thread-safe.
class WordCache {
 public:
  /// Appends the ids of `word`, from `encode(word)` if they are not cached.
  template <typename Encode>
  void append(std::string_view word, TokenIds& ids, const Encode& encode) const {
    const bool cacheable = word.size() <= kMaxBytes;
    if (cacheable) {
      const ReadLock lock(mutex_);
      if (const auto found = known_.find(word); found != known_.end()) {
        ids.insert(ids.end(), found->second.begin(), found->second.end());
        return;
      }
    }
    TokenIds word_ids = encode(word);
    ids.insert(ids.end(), word_ids.begin(), word_ids.end());
    if (cacheable) {
      const WriteLock lock(mutex_);
      if (known_.size() < kMaxWords) known_.emplace(word, std::move(word_ids));
    }
  }

 private:
  static constexpr size_t kMaxWords = 1 << 16;
  static constexpr size_t kMaxBytes = 64;  // of one word

  mutable SharedMutex mutex_;
  mutable StringMap<TokenIds> known_ GUARDED_BY(mutex_);
};

}  // namespace predgen

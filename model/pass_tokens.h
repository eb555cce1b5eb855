#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.h"
#include "kernels/token_kernels.h"
#include "model/language_model.h"

namespace predgen {

/// One new token of a pass.
struct PassToken {
  TokenId id = 0;
  size_t step = 0;       // index in the pass
  int64_t place = 0;     // index in its cache
  int64_t position = 0;  // in the text; on a tree's branch less than `place`
  bool is_mask = false;  // SequenceStep::num_masks
  // The keys that it sees: all places before num_consecutive, then some others.
  int64_t num_consecutive = 0;
  int64_t others_begin = 0, num_others = 0;
};

/// The new tokens of all sequences of a pass, in their order.
class PassTokens {
 public:
  /// Error for steps that LanguageModel::forward() does not take, and for ids outside [0,
  /// vocab_size).
  void read(std::span<const SequenceStep> steps, int64_t vocab_size);

  std::span<const PassToken> tokens() const { return tokens_; }
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Indices of the tokens whose logits are requested.
  std::span<const int64_t> wanted() const { return wanted_; }
  /// Places beyond num_consecutive that the token sees, in order.
  std::span<const int32_t> others(const PassToken& token) const {
    return std::span(others_).subspan(static_cast<size_t>(token.others_begin),
                                      static_cast<size_t>(token.num_others));
  }
  /// Which keys the token sees, in a layer where it sees the last `window` positions (0: all).
  TokenAttention seen_by(const PassToken& token, int64_t window) const;

 private:
  std::vector<PassToken> tokens_;
  std::vector<int32_t> others_;
  std::vector<int64_t> wanted_;
};

/// Held during a pass; `flag` is the model's. Error if another pass of the model is under way.
class PassGuard {
 public:
  explicit PassGuard(std::atomic_flag& flag) : flag_(flag) {
    PREDGEN_CHECK(!flag.test_and_set(std::memory_order_acquire), "passes of a model overlap");
  }
  ~PassGuard() { flag_.clear(std::memory_order_release); }
  PassGuard(const PassGuard&) = delete;
  PassGuard& operator=(const PassGuard&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace predgen

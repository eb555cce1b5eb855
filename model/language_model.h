#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>

#include "model/kv_cache.h"

namespace predgen {

// Shapes: B rows, T tokens of this call, N rows of logits, S cached plus new positions,
// V vocabulary.

struct ForwardInput {
  at::Tensor tokens_BT{};            // int64
  int64_t num_logits = 0;            // logits of the last N positions only; 0: of all T
  at::Tensor positions_BT{};         // int64; undefined: consecutive, from the cache's length
  at::Tensor attention_mask_B1TS{};  // bool, true = visible; undefined: causal
};

/// A causal language model as the runtime sees it: weights only. All state of a conversation is
/// in KvCache, so several sequences may share a model; calls must not overlap in time.
class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  virtual int64_t vocab_size() const = 0;
  /// Positions the model was made for; a longer prompt is the user's error.
  virtual int64_t max_positions() const = 0;
  virtual std::unique_ptr<KvCache> make_cache(int64_t batch_size, int64_t capacity) const = 0;

  /// Runs T >= 1 tokens after those in `cache` and commits them to it. No gradients.
  /// Returns float32 logits [B,N,V] on the model's device.
  virtual at::Tensor forward(const ForwardInput& input, KvCache& cache) const = 0;
};

}  // namespace predgen

#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/language_model.h"
#include "text/token_ids.h"

namespace predgen {

/// A model without weights for tests of decoding. Its cache holds the token ids as keys and their
/// positions as values, and every prediction reads the history back from there: a cache that is
/// off by one, stale or out of order gives other tokens or throws.
class FakeLanguageModel : public LanguageModel {
 public:
  struct Options {
    int64_t vocab_size = 31;
    int64_t max_positions = 4096;
    /// Predictions follow from the last `memory` tokens, ..
    int64_t memory = 2;
    /// .. and in about one of `surprise` contexts from the whole history; 0: never, 1: always.
    int64_t surprise = 4;
    /// Overrides the hash: this is the most likely next token; the others stay hashed below it.
    std::function<TokenId(TokenSpan history)> next{};
  };

  explicit FakeLanguageModel(Options options) : options_(std::move(options)) {}

  int64_t vocab_size() const override { return options_.vocab_size; }
  int64_t max_positions() const override { return options_.max_positions; }
  std::unique_ptr<KvCache> make_cache(int64_t batch_size, int64_t capacity) const override {
    return std::make_unique<KvCache>(KvCache::Shape{.num_layers = 1,
                                                    .batch_size = batch_size,
                                                    .num_kv_heads = 1,
                                                    .capacity = capacity,
                                                    .head_dim = 1},
                                     at::TensorOptions().dtype(at::kLong));
  }

  at::Tensor forward(const ForwardInput& input, KvCache& cache) const override {
    const int64_t num_rows = input.tokens_BT.size(0), num_tokens = input.tokens_BT.size(1);
    const int64_t num_logits = input.num_logits == 0 ? num_tokens : input.num_logits;
    PREDGEN_CHECK(num_tokens >= 1 && num_logits <= num_tokens, "{} logits of {} tokens", num_logits,
                  num_tokens);
    PREDGEN_CHECK(cache.length() + num_tokens <= options_.max_positions, "beyond max_positions");
    ++num_passes;
    pass_sizes.push_back(num_tokens);
    const at::Tensor positions_BT =
        input.positions_BT.defined()
            ? input.positions_BT
            : (at::arange(num_tokens, at::kLong) + cache.length()).expand({num_rows, num_tokens});
    const auto as_head = [&](const at::Tensor& ids_BT) {
      return ids_BT.to(at::kCPU).reshape({num_rows, 1, num_tokens, 1});
    };
    const auto [keys, values] = cache.append(0, as_head(input.tokens_BT), as_head(positions_BT));
    const int64_t num_cached = keys.size(2) - num_tokens;
    at::Tensor logits_BNV = at::empty({num_rows, num_logits, options_.vocab_size}, at::kFloat);
    for (int64_t b = 0; b < num_rows; ++b) {
      const at::Tensor tokens_S = keys[b].reshape({-1}).contiguous();
      const at::Tensor positions_S = values[b].reshape({-1}).contiguous();
      for (int64_t n = 0; n < num_logits; ++n) {
        const int64_t t = num_tokens - num_logits + n;
        TokenIds history;
        for (int64_t s = 0; s <= num_cached + t; ++s) {
          if (input.attention_mask_B1TS.defined() &&
              !input.attention_mask_B1TS[b][0][t][s].item<bool>()) {
            continue;
          }
          PREDGEN_CHECK(positions_S.data_ptr<int64_t>()[s] == static_cast<int64_t>(history.size()),
                        "position {} where {} was due", positions_S.data_ptr<int64_t>()[s],
                        history.size());
          history.push_back(tokens_S.data_ptr<int64_t>()[s]);
        }
        predict(history, logits_BNV[b][n].data_ptr<float>());
      }
    }
    cache.commit(num_tokens);
    return logits_BNV;
  }

  mutable int64_t num_passes = 0;
  mutable std::vector<int64_t> pass_sizes;  // tokens run in each pass

 private:
  static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
    return hash ^ (hash >> 29);
  }

  void predict(TokenSpan history, float* logits_V) const {
    uint64_t hash = 1469598103934665603ull;
    const size_t memory = std::min<size_t>(history.size(), static_cast<size_t>(options_.memory));
    for (const TokenId token : history.last(memory)) hash = mix(hash, static_cast<uint64_t>(token));
    if (options_.surprise > 0 && (hash >> 17) % static_cast<uint64_t>(options_.surprise) == 0) {
      for (const TokenId token : history) hash = mix(hash, static_cast<uint64_t>(token) + 77);
    }
    for (int64_t v = 0; v < options_.vocab_size; ++v) {
      const uint64_t roll = mix(mix(hash, static_cast<uint64_t>(v) + 1), 0xABCDull);
      logits_V[v] = static_cast<float>(roll >> 40) / static_cast<float>(1 << 24);  // [0, 1)
    }
    if (options_.next) logits_V[options_.next(history)] = 2.0f;
  }

  Options options_;
};

}  // namespace predgen

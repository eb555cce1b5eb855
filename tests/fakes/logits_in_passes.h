#pragma once

#include <algorithm>
#include <vector>

#include "core/random.h"
#include "model/transformer.h"

namespace predgen {

/// Of the vocabulary of small_config().
inline TokenIds some_tokens(int64_t length) {
  Random random(1, "tokens");
  TokenIds tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back(static_cast<TokenId>(random.below(61)));
  return tokens;
}

/// Logits of all tokens, in passes of `width`.
inline at::Tensor logits_in_passes(Transformer& model, const TokenIds& tokens, int64_t width) {
  KvPool pool(model.kv_layout());
  const auto cache = pool.make_state(128);
  const auto length = static_cast<int64_t>(tokens.size());
  std::vector<at::Tensor> logits;
  for (int64_t begin = 0; begin < length; begin += width) {
    const int64_t count = std::min(width, length - begin);
    logits.push_back(model.forward({.state = cache.get(),
                                    .tokens = TokenSpan(tokens).subspan(static_cast<size_t>(begin),
                                                                        static_cast<size_t>(count)),
                                    .num_logits = count}));
  }
  return at::cat(logits);
}

}  // namespace predgen

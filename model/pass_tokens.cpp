#include "model/pass_tokens.h"

#include <algorithm>

#include "core/error.h"

namespace predgen {

void PassTokens::read(std::span<const SequenceStep> steps, int64_t vocab_size) {
  tokens_.clear();
  others_.clear();
  wanted_.clear();
  for (size_t s = 0; s < steps.size(); ++s) {
    const SequenceStep& step = steps[s];
    const int64_t past = step.state->length();
    std::vector<int64_t> depths;  // in a tree
    const bool* sees = nullptr;
    at::Tensor tree_TT;
    if (step.tree_TT.defined()) {
      depths = tree_depths(step);
      tree_TT = step.tree_TT.contiguous();
      sees = tree_TT.const_data_ptr<bool>();
    }
    const auto T = static_cast<int64_t>(step.tokens.size());
    for (int64_t i = 0; i < T; ++i) {
      const auto index = static_cast<size_t>(i);
      PREDGEN_CHECK(step.tokens[index] >= 0 && step.tokens[index] < vocab_size, "token {} of {}",
                    step.tokens[index], vocab_size);
      if (i >= T - step.num_logits) wanted_.push_back(size());
      PassToken token{.id = step.tokens[index],
                      .step = s,
                      .place = past + i,
                      .position = past + (sees == nullptr ? i : depths[index]),
                      .is_mask = i >= T - step.num_masks,
                      .num_consecutive = past + i + 1,
                      .others_begin = static_cast<int64_t>(others_.size())};
      if (sees != nullptr) {
        token.num_consecutive = past;
        for (int64_t j = 0; j <= i; ++j) {
          if (sees[i * T + j]) others_.push_back(static_cast<int32_t>(past + j));
        }
        token.num_others = static_cast<int64_t>(others_.size()) - token.others_begin;
      }
      tokens_.push_back(token);
    }
  }
}

TokenAttention PassTokens::seen_by(const PassToken& token, int64_t window) const {
  const int64_t total = token.num_consecutive + token.num_others;
  const int64_t hidden = window > 0 ? std::max<int64_t>(total - window, 0) : 0;
  const int64_t first = std::min(hidden, token.num_consecutive);
  TokenAttention attention;
  attention.first = first;
  attention.num_consecutive = token.num_consecutive - first;
  attention.others = others_.data() + token.others_begin + (hidden - first);
  attention.num_others = token.num_others - (hidden - first);
  return attention;
}

}  // namespace predgen

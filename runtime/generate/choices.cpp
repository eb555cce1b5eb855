#include "runtime/generate/choices.h"

#include <algorithm>

#include "runtime/generate/sampler.h"

namespace predgen {

Choices::Choices(const GenerationConfig& config, const at::Tensor& logits_NV, TokenSpan before,
                 const TokenTree& tree)
    : config_(config), logits_NV_(logits_NV), before_(before), tree_(tree) {
  if (!config.sampler) most_likely_ = argmax_rows(logits_NV);
}

TokenId Choices::after(const std::vector<int64_t>& path) const {
  const int64_t row = path.empty() ? 0 : path.back() + 1;
  if (!config_.sampler) return most_likely_[static_cast<size_t>(row)];
  TokenIds tokens(before_.begin(), before_.end());
  for (const int64_t index : path) tokens.push_back(tree_.tokens()[static_cast<size_t>(index)]);
  return config_.sampler->sample(logits_NV_[row], tokens, config_.answer_begin);
}

std::vector<int64_t> Choices::follow(std::vector<int64_t> path) const {
  while (const auto next = tree_.find(path.empty() ? -1 : path.back(), after(path))) {
    path.push_back(*next);
  }
  return path;
}

TokenIds Choices::found(const std::vector<int64_t>& path) const {
  TokenIds tokens;
  for (const int64_t index : path) tokens.push_back(tree_.tokens()[static_cast<size_t>(index)]);
  tokens.push_back(after(path));
  return tokens;
}

TokenIds Choices::guess_after(const std::vector<int64_t>& path,
                              const std::vector<int64_t>& draft) const {
  TokenIds guess;
  if (path.size() > draft.size() ||
      !std::ranges::equal(path, std::span(draft).first(path.size()))) {
    return guess;
  }
  for (size_t length = path.size() + 1; length <= draft.size(); ++length) {
    guess.push_back(after({draft.begin(), draft.begin() + static_cast<int64_t>(length)}));
  }
  return guess;
}

}  // namespace predgen

#include "runtime/generate/choices.h"

#include <algorithm>

#include "core/error.h"
#include "runtime/generate/sampler.h"

namespace predgen {

Choices::Choices(const GenerationConfig& config, const at::Tensor& logits_NV, TokenSpan before,
                 const TokenTree& tree)
    : config_(config), logits_NV_(logits_NV), before_(before), tree_(tree) {
  if (config.constraint) {
    PREDGEN_CHECK(std::ranges::equal(config.stop_tokens, config.constraint->stop_tokens()),
                  "a constraint for other stop tokens");
    const TokenSpan answer = before.subspan(static_cast<size_t>(config.answer_begin));
    places_.push_back(config.constraint->after(answer));
    for (int64_t i = 0; i < tree.size(); ++i) {
      const auto& parent = places_[static_cast<size_t>(tree.parent(i) + 1)];
      places_.push_back(parent ? parent->next(tree.tokens()[static_cast<size_t>(i)]) : nullptr);
    }
  }
  if (config.sampler) return;
  most_likely_ = places_.empty() ? argmax_rows(logits_NV) : likeliest_allowed(logits_NV, places_);
}

TokenId Choices::after(const std::vector<int64_t>& path) const {
  const int64_t row = path.empty() ? 0 : path.back() + 1;
  if (!config_.sampler) return most_likely_[static_cast<size_t>(row)];
  TokenIds tokens(before_.begin(), before_.end());
  for (const int64_t index : path) tokens.push_back(tree_.tokens()[static_cast<size_t>(index)]);
  if (places_.empty()) {
    return config_.sampler->sample(logits_NV_[row], tokens, config_.answer_begin);
  }
  const AnswerConstraint::PlacePtr& place = places_[static_cast<size_t>(row)];
  if (!place || place->allowed().count() == 0) return kNoToken;
  return config_.sampler->sample(logits_NV_[row], tokens, config_.answer_begin,
                                 allowed_tokens(place, logits_NV_.size(1), logits_NV_.device()));
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
    if (guess.back() == kNoToken) {
      guess.pop_back();
      break;
    }
  }
  return guess;
}

at::Tensor Choices::allowed_logits(int64_t count) const {
  const at::Tensor logits_DV = logits_NV_.narrow(0, 0, count);
  if (places_.empty()) return logits_DV;
  return predgen::allowed_logits(logits_DV, std::span(places_).first(static_cast<size_t>(count)));
}

AnswerConstraint::PlacePtr Choices::place_after(const std::vector<int64_t>& path,
                                                TokenId token) const {
  if (places_.empty()) return nullptr;
  const auto& place = places_[static_cast<size_t>(path.empty() ? 0 : path.back() + 1)];
  return place ? place->next(token) : nullptr;
}

}  // namespace predgen

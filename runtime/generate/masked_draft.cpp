#include "runtime/generate/masked_draft.h"

#include <algorithm>

#include "runtime/generate/sampler.h"

namespace predgen {

MaskedDraft::MaskedDraft(const TokenTree& tree, const std::vector<int64_t>& first, TokenSpan masks,
                         int64_t room, const std::vector<int64_t>& passed)
    : tokens_(tree.tokens().begin(), tree.tokens().end()),
      sees_DD_(tree.mask_GG()),
      num_each_(std::ssize(masks)) {
  if (num_each_ == 0) return;
  std::vector<int64_t> order{-1};
  order.insert(order.end(), first.begin(), first.end());
  for (int64_t token = 0; token < tree.size(); ++token) {
    if (std::ranges::find(first, token) == first.end()) order.push_back(token);
  }
  if (!passed.empty()) {
    std::erase_if(order, [&](int64_t token) { return std::ranges::count(passed, token) > 0; });
  }
  const int64_t count = std::clamp<int64_t>(room / num_each_, 0, std::ssize(order));
  masked_.assign(order.begin(), order.begin() + count);
  if (masked_.empty()) return;

  num_masks_ = num_each_ * std::ssize(masked_);
  const int64_t G = tree.size(), D = G + num_masks_;
  const at::Tensor sees_GG = sees_DD_.defined() ? sees_DD_ : at::ones({G, G}, at::kBool).tril();
  sees_DD_ = at::zeros({D, D}, at::kBool);
  sees_DD_.narrow(0, 0, G).narrow(1, 0, G).copy_(sees_GG);
  for (const int64_t token : masked_) {
    const at::Tensor rows = sees_DD_.narrow(0, std::ssize(tokens_), num_each_);
    if (token >= 0) rows.narrow(1, 0, G).copy_(sees_GG[token].expand({num_each_, G}));
    rows.narrow(1, std::ssize(tokens_), num_each_).fill_(true).tril_();
    tokens_.insert(tokens_.end(), masks.begin(), masks.end());
  }
}

TokenIds MaskedDraft::guess_behind(const std::vector<int64_t>& path, const at::Tensor& logits_NV,
                                   const AnswerConstraint::PlacePtr& place) const {
  const auto masked = std::ranges::find(masked_, path.empty() ? -1 : path.back());
  if (masked == masked_.end()) return {};
  const int64_t before = std::ssize(tokens_) - num_masks_ + 1;  // rows
  const at::Tensor rows_NV =
      logits_NV.narrow(0, before + (masked - masked_.begin()) * num_each_, num_each_);
  return place ? likeliest_path(rows_NV, place) : argmax_rows(rows_NV);
}

}  // namespace predgen

#include "runtime/speculate/draft_tree.h"

#include <algorithm>
#include <utility>

#include "runtime/generate/sequence_pass.h"

namespace predgen {
namespace {

constexpr int64_t kMostMasks = 16;  // beside what is verified, in one pass

}  // namespace

void DraftTree::add_others(std::span<const TokenIds> answers, TokenSpan masks, const Room& room) {
  AnswerConstraint::PlacePtr start;
  if (config_.constraint) start = config_.constraint->after({});
  const std::vector<int64_t> passed = add_forced(tree_, start, room.forced, config_.max_new_tokens);
  num_known_ = tree_.size();
  const int64_t most = std::min(num_known_ + std::max<int64_t>(room.answers, 0), room.all);
  for (const TokenSpan answer : answers) {
    const int64_t length = std::min(std::ssize(answer), config_.max_new_tokens);
    tree_.add(allowed_start(answer.first(static_cast<size_t>(length)), config_, start), most);
  }
  const int64_t for_masks =
      std::min({kMostMasks, room.others - (tree_.size() - num_known_), room.all - tree_.size()});
  masked_.emplace(tree_, drafted_, masks, for_masks, passed);
}

void DraftTree::read(const at::Tensor& logits_NV, TokenSpan before) {
  logits_NV_ = logits_NV;
  tree_logits_NV_ = logits_NV.narrow(0, 0, 1 + tree_.size());
  choices_.emplace(config_, tree_logits_NV_, before, tree_);
}

DraftLogits DraftTree::about_draft(bool is_exact) const {
  return {.logits_DV = is_exact ? logits_NV_.narrow(0, 0, num_drafted())
                                : choices_->allowed_logits(num_drafted()),
          .most_likely = choices_->most_likely()};
}

std::vector<int64_t> DraftTree::right(int64_t num_agreed) const {
  std::vector<int64_t> path = choices_->follow();
  if (num_agreed == 0) return path;
  std::vector<int64_t> agreed = choices_->follow({drafted_.begin(), drafted_.begin() + num_agreed});
  return agreed.size() >= path.size() ? agreed : path;
}

TokenIds DraftTree::guess_behind(const std::vector<int64_t>& path) const {
  TokenIds guess;
  if (masked_) {
    AnswerConstraint::PlacePtr place;
    if (config_.constraint) place = choices_->place_after(path, choices_->after(path));
    guess = masked_->guess_behind(path, logits_NV_, place);
  }
  // Otherwise the likeliest tokens are worth using, but not a draw of each.
  if (guess.empty() && !config_.sampler) guess = choices_->guess_after(path, drafted_);
  return guess;
}

int64_t DraftTree::num_right(const std::vector<int64_t>& path) const {
  return std::ranges::mismatch(path, drafted_).in1 - path.begin();
}

int64_t DraftTree::num_forced(const std::vector<int64_t>& path) const {
  return std::ranges::count_if(
      path, [&](int64_t token) { return token >= num_drafted() && token < num_known_; });
}

}  // namespace predgen

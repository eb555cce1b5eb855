#include "runtime/generate/token_tree.h"

#include <algorithm>

namespace predgen {

std::optional<int64_t> TokenTree::find(int64_t parent, TokenId token) const {
  for (int64_t index = parent + 1; index < size(); ++index) {  // a child comes after its parent
    const auto place = static_cast<size_t>(index);
    if (parents_[place] == parent && tokens_[place] == token) return index;
  }
  return std::nullopt;
}

int64_t TokenTree::num_known(TokenSpan path) const {
  int64_t count = 0, parent = -1;
  for (const TokenId token : path) {
    const std::optional<int64_t> known = find(parent, token);
    if (!known) break;
    parent = *known;
    ++count;
  }
  return count;
}

int64_t TokenTree::depth() const {
  std::vector<int64_t> depths;
  for (const int64_t parent : parents_) {
    depths.push_back(parent < 0 ? 1 : depths[static_cast<size_t>(parent)] + 1);
  }
  return depths.empty() ? 0 : std::ranges::max(depths);
}

std::vector<int64_t> TokenTree::add(TokenSpan path, int64_t max_size) {
  std::vector<int64_t> indices;
  int64_t parent = -1;
  for (const TokenId token : path) {
    const std::optional<int64_t> known = find(parent, token);
    if (!known && size() >= max_size) break;
    if (!known) {
      tokens_.push_back(token);
      parents_.push_back(parent);
    }
    parent = known.value_or(size() - 1);
    indices.push_back(parent);
  }
  return indices;
}

at::Tensor TokenTree::mask_GG() const {
  bool branches = false;
  for (int64_t token = 0; token < size(); ++token) {
    branches |= parents_[static_cast<size_t>(token)] != token - 1;
  }
  if (!branches) return {};
  at::Tensor mask_GG = at::eye(size(), at::kBool);
  for (int64_t token = 0; token < size(); ++token) {
    const int64_t parent = parents_[static_cast<size_t>(token)];
    if (parent >= 0) mask_GG[token].logical_or_(mask_GG[parent]);
  }
  return mask_GG;
}

}  // namespace predgen

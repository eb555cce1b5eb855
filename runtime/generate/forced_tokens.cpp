#include "runtime/generate/forced_tokens.h"

#include <algorithm>

namespace predgen {
namespace {

/// A path of a tree, and where it leads to.
struct PathEnd {
  int64_t index = -1;
  TokenIds path;
  AnswerConstraint::PlacePtr place;
};

/// The tree's beginning, and each path that has no continuation.
std::vector<PathEnd> ends_of(const TokenTree& tree, const AnswerConstraint::PlacePtr& place) {
  std::vector<PathEnd> all{{.index = -1, .path = {}, .place = place}};
  std::vector<bool> goes_on(1);
  for (int64_t token = 0; token < tree.size(); ++token) {
    const auto parent = static_cast<size_t>(tree.parent(token) + 1);
    PathEnd end{.index = token, .path = all[parent].path, .place = all[parent].place};
    end.path.push_back(tree.tokens()[static_cast<size_t>(token)]);
    if (end.place) end.place = end.place->next(end.path.back());
    goes_on[parent] = true;
    goes_on.push_back(false);
    all.push_back(std::move(end));
  }
  goes_on.front() = false;
  std::erase_if(all,
                [&](const PathEnd& end) { return goes_on[static_cast<size_t>(end.index + 1)]; });
  return all;
}

}  // namespace

std::vector<int64_t> add_forced(TokenTree& tree, const AnswerConstraint::PlacePtr& place,
                                int64_t most, int64_t deepest) {
  std::vector<int64_t> continued;
  if (!place) return continued;
  const int64_t room = tree.size() + std::min(most, kMostForced);
  for (PathEnd& end : ends_of(tree, place)) {
    if (!end.place) continue;
    const auto depth = std::ssize(end.path);
    const TokenIds forced = end.place->forced(std::min(kMostForced, deepest - depth));
    end.path.insert(end.path.end(), forced.begin(), forced.end());
    const std::vector<int64_t> path = tree.add(end.path, room);
    if (std::ssize(path) <= depth) continue;
    continued.push_back(end.index);
    continued.insert(continued.end(), path.begin() + depth, path.end() - 1);
  }
  return continued;
}

}  // namespace predgen

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace predgen {

/// The fewest elements to insert, delete or replace to turn `from` into `to` (Levenshtein 1966).
template <typename Sequence>
int64_t edit_distance(const Sequence& from, const Sequence& to) {
  std::vector<int64_t> edits(to.size() + 1);  // from the prefix so far to the first i of `to`
  std::iota(edits.begin(), edits.end(), 0);
  for (const auto& element : from) {
    int64_t before = edits[0]++;
    for (size_t i = 1; i < edits.size(); ++i) {
      const int64_t replaced = before + (element == to[i - 1] ? 0 : 1);
      before = edits[i];
      edits[i] = std::min({edits[i] + 1, edits[i - 1] + 1, replaced});
    }
  }
  return edits.back();
}

}  // namespace predgen

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace predgen {

/// `edits` has the fewest elements to insert, delete or replace to turn a sequence into the first
/// 0, 1, .. all elements of `to` (Levenshtein 1966). Renews it for that sequence and `element`.
template <typename Element, typename Sequence>
void add_to_edits(std::vector<int64_t>& edits, const Element& element, const Sequence& to) {
  int64_t before = edits[0]++;
  for (size_t i = 1; i < edits.size(); ++i) {
    const int64_t replaced = before + (element == to[i - 1] ? 0 : 1);
    before = edits[i];
    edits[i] = std::min({edits[i] + 1, edits[i - 1] + 1, replaced});
  }
}

/// The fewest to turn `from` into the first 0, 1, .. all elements of `to`.
template <typename Sequence>
std::vector<int64_t> edits_to_beginnings(const Sequence& from, const Sequence& to) {
  std::vector<int64_t> edits(to.size() + 1);
  std::iota(edits.begin(), edits.end(), 0);
  for (const auto& element : from) add_to_edits(edits, element, to);
  return edits;
}

/// The fewest to turn `from` into `to`.
template <typename Sequence>
int64_t edit_distance(const Sequence& from, const Sequence& to) {
  return edits_to_beginnings(from, to).back();
}

/// The word of `valid` that `wrong` probably means; none if no word is close.
std::optional<std::string> nearest_word(const std::string& wrong,
                                        const std::vector<std::string>& valid);

/// For messages about a wrong word: `did you mean "x"?` with the closest of `valid`, or, if none is
/// close, the whole list. A word of more than 64 bytes is close to none.
std::string suggest(const std::string& wrong, const std::vector<std::string>& valid);

}  // namespace predgen

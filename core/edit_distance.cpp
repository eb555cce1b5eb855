#include "core/edit_distance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace predgen {
namespace {

/// The longest wrong word considered: a longer one is not a typing error.
constexpr size_t kMostBytes = 64;

/// Number of insertions, deletions, replacements and adjacent swaps that turn `a` into `b`.
size_t typing_distance(const std::string& a, const std::string& b) {
  // Rows of i, i - 1 and i - 2.
  std::vector<size_t> row(b.size() + 1), before(b.size() + 1), second(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    second.swap(before);
    before.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], second[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest_word(const std::string& wrong,
                                        const std::vector<std::string>& valid) {
  std::optional<std::string> nearest;
  size_t distance = std::max<size_t>(2, wrong.size() / 3) + 1;
  for (const std::string& word : valid) {
    if (wrong.size() > kMostBytes) break;
    if (const size_t edits = typing_distance(wrong, word); edits < distance) {
      distance = edits;
      nearest = word;
    }
  }
  return nearest;
}

std::string suggest(const std::string& wrong, const std::vector<std::string>& valid) {
  if (valid.empty()) return "nothing is read here";
  if (const auto meant = nearest_word(wrong, valid)) {
    return fmt::format("did you mean \"{}\"?", *meant);
  }
  return fmt::format("valid here: {}", fmt::join(valid, ", "));
}

}  // namespace predgen

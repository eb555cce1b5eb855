#include "core/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace predgen {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  std::iota(cost[0].begin(), cost[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1,
                             cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest_word(const std::string& wrong,
                                        const std::vector<std::string>& valid) {
  const auto nearest = std::min_element(valid.begin(), valid.end(), [&](auto& a, auto& b) {
    return edit_distance(wrong, a) < edit_distance(wrong, b);
  });
  if (nearest == valid.end()) return std::nullopt;
  const bool is_near = edit_distance(wrong, *nearest) <= std::max<size_t>(2, wrong.size() / 3);
  return is_near ? std::optional(*nearest) : std::nullopt;
}

std::string suggest(const std::string& wrong, const std::vector<std::string>& valid) {
  if (valid.empty()) return "nothing is read here";
  if (const auto meant = nearest_word(wrong, valid)) {
    return fmt::format("did you mean \"{}\"?", *meant);
  }
  return fmt::format("valid here: {}", fmt::join(valid, ", "));
}

}  // namespace predgen

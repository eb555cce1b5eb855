#include "hear/asr/decoder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace predgen::ears {
namespace {

/// What may follow where the model gave `token` in place of the first of `draft`: what follows the
/// same token later in `draft`, or else what follows the replaced one.
std::vector<int64_t> rest_of(const std::vector<int64_t>& draft, int64_t token) {
  if (draft.empty()) return {};
  const auto same = std::ranges::find(draft, token);
  return {std::next(same == draft.end() ? draft.begin() : same), draft.end()};
}

}  // namespace

std::vector<int64_t> likeliest_of_rows(std::span<const float> logits, int64_t num_tokens) {
  std::vector<int64_t> likeliest;
  for (auto row = logits.begin(); row != logits.end(); row += num_tokens) {
    likeliest.push_back(std::max_element(row, row + num_tokens) - row);
  }
  return likeliest;
}

std::vector<double> certainties_of_rows(std::span<const float> logits, int64_t num_tokens) {
  std::vector<double> certainties;
  for (auto row = logits.begin(); row != logits.end(); row += num_tokens) {
    const float most = *std::max_element(row, row + num_tokens);
    const double sum = std::accumulate(
        row, row + num_tokens, 0.0,
        [most](double sum_so_far, float logit) { return sum_so_far + std::exp(logit - most); });
    certainties.push_back(1 / sum);
  }
  return certainties;
}

std::vector<int64_t> decode_drafted(const LikeliestNext& next, const std::vector<int64_t>& prompt,
                                    std::vector<int64_t> draft, const TokenLimits& limits,
                                    const RestOfDraft& rest) {
  const auto most = static_cast<size_t>(std::max<int64_t>(0, limits.most));
  std::vector<int64_t> text, asked = prompt;
  int64_t offset = 0;
  while (true) {
    draft.resize(std::min(draft.size(), most - text.size()));
    asked.insert(asked.end(), draft.begin(), draft.end());
    const std::vector<int64_t> all = next(asked, offset);
    const auto said =
        std::span(all).last(draft.size() + 1);  // after what is known, and after each drafted token
    const auto [wrong, other] = std::ranges::mismatch(draft, said);
    const auto end = std::find(draft.begin(), wrong, limits.end);
    text.insert(text.end(), draft.begin(), end);
    if (end != wrong || *other == limits.end || text.size() == most) return text;
    text.push_back(*other);
    if (text.size() == most) return text;
    draft = rest ? rest(text) : rest_of({wrong, draft.end()}, *other);
    asked = {text.back()};
    offset = std::ssize(prompt) + std::ssize(text) - 1;
  }
}

}  // namespace predgen::ears

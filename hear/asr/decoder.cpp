#include "hear/asr/decoder.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/edit_distance.h"
#include "core/text.h"

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

namespace {

constexpr size_t kLongestToken = 16;  // bytes, of those that drafts get
constexpr size_t kCompared = 60;      // letters at the end of what was said, which place it

bool is_letter(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || (byte & 0x80) != 0;
}

/// Letters and digits in lower case, and the place behind each.
struct Letters {
  explicit Letters(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (!is_letter(text[i])) continue;
      letters += lower_ascii(text[i]);
      behind.push_back(i + 1);
    }
  }
  std::string letters;
  std::vector<size_t> behind;
};

}  // namespace

size_t draft_place(std::string_view draft, std::string_view said) {
  const Letters of_draft(draft), of_said(said);
  // The least number of letters to change, add or remove to make each beginning of the draft of
  // what was said. What is long ago need not be counted again: it places both alike.
  const size_t skipped = of_said.letters.size() - std::min(of_said.letters.size(), kCompared);
  const size_t count = of_draft.letters.size();
  std::vector<int64_t> edits(count + 1);
  for (size_t i = 0; i <= count; ++i) {
    edits[i] = static_cast<int64_t>(i > skipped ? i - skipped : skipped - i);
  }
  for (const char letter : std::string_view(of_said.letters).substr(skipped)) {
    add_to_edits(edits, letter, of_draft.letters);
  }
  const auto best = static_cast<size_t>(std::ranges::min_element(edits) - edits.begin());
  size_t place = best == 0 ? 0 : of_draft.behind[best - 1];
  if (said.empty() || is_letter(said.back())) return place;
  // "light-" is followed by "roast" where the draft has "light roast"; "light," by " roast".
  const bool skips_blanks = said.back() == '-' || said.back() == ' ';
  while (place < draft.size() && !is_letter(draft[place]) &&
         (skips_blanks || draft[place] != ' ')) {
    ++place;
  }
  return place;
}

void TokenTexts::add(int64_t token, std::string bytes) {
  if (!bytes.empty() && bytes.size() <= kLongestToken) numbers_.emplace(bytes, token);
  bytes_[token] = std::move(bytes);
}

std::string TokenTexts::bytes_of(std::span<const int64_t> tokens) const {
  std::string bytes;
  for (const int64_t token : tokens) {
    if (const auto found = bytes_.find(token); found != bytes_.end()) bytes += found->second;
  }
  return bytes;
}

std::vector<int64_t> TokenTexts::tokens_of(std::string_view text) const {
  std::vector<int64_t> tokens;
  while (!text.empty()) {
    auto found = numbers_.end();
    for (size_t length = std::min(kLongestToken, text.size());
         length > 0 && found == numbers_.end(); --length) {
      found = numbers_.find(text.substr(0, length));
    }
    if (found == numbers_.end()) break;
    tokens.push_back(found->second);
    text.remove_prefix(found->first.size());
  }
  return tokens;
}

}  // namespace predgen::ears

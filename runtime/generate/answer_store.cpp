#include "runtime/generate/answer_store.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/error.h"

namespace predgen {
namespace {

constexpr size_t kLongestMatch = 8;
constexpr size_t kMostMatches = 1024;  // that are looked at for one match

}  // namespace

AnswerStore::AnswerStore(const std::vector<TokenIds>& answers) {
  size_t size = answers.size();
  for (const TokenIds& answer : answers) size += answer.size();
  text_.reserve(size);
  order_.reserve(size);
  for (const TokenIds& answer : answers) {
    text_.push_back(kNone);
    text_.insert(text_.end(), answer.begin(), answer.end());
  }
  PREDGEN_CHECK(text_.size() < std::numeric_limits<uint32_t>::max(), "{} tokens of answers",
                text_.size());
  for (size_t i = 1; i < text_.size(); ++i) {
    if (text_[i] != kNone && text_[i - 1] != kNone) order_.push_back(static_cast<uint32_t>(i));
  }
  std::ranges::sort(order_, [&](uint32_t a, uint32_t b) {
    for (size_t back = 1; back <= kLongestMatch; ++back) {
      const TokenId of_a = before(a, back), of_b = before(b, back);
      if (of_a != of_b) return of_a < of_b;
      if (of_a == kNone) break;
    }
    return a < b;
  });
}

TokenId AnswerStore::before(uint32_t place, size_t back) const {
  return back <= place ? text_[place - back] : kNone;
}

AnswerStore::Range AnswerStore::narrowed(const Range& range, TokenId token, size_t back) const {
  const auto key = [&](uint32_t place) { return before(place, back); };
  const auto found = std::ranges::equal_range(order_.begin() + static_cast<ptrdiff_t>(range.begin),
                                              order_.begin() + static_cast<ptrdiff_t>(range.end),
                                              token, std::less<>(), key);
  return {static_cast<size_t>(found.begin() - order_.begin()),
          static_cast<size_t>(found.end() - order_.begin())};
}

std::vector<TokenIds> AnswerStore::find(TokenSpan tokens, int64_t max_paths,
                                        int64_t max_tokens) const {
  std::vector<Range> matches;  // of one token, two, ..
  Range range{0, order_.size()};
  for (size_t back = 1; back <= std::min(kLongestMatch, tokens.size()); ++back) {
    range = narrowed(range, tokens[tokens.size() - back], back);
    if (range.begin == range.end) break;
    matches.push_back(range);
  }
  using Start = std::pair<TokenId, TokenId>;  // of a continuation
  struct Way {
    uint32_t place;
    int64_t count;
  };
  std::vector<TokenIds> paths;
  std::vector<Start> taken;
  const auto is_full = [&] { return std::ssize(paths) >= max_paths; };
  for (auto match = matches.rbegin(); match != matches.rend() && !is_full(); ++match) {
    std::map<Start, Way> ways;
    const size_t step = 1 + (match->end - match->begin) / kMostMatches;
    for (size_t i = match->begin; i < match->end; i += step) {
      const uint32_t place = order_[i];
      const Start start{text_[place], place + 1 < text_.size() ? text_[place + 1] : kNone};
      ++ways.try_emplace(start, Way{place, 0}).first->second.count;
    }
    std::vector<std::pair<Start, Way>> sorted(ways.begin(), ways.end());
    std::ranges::stable_sort(sorted, std::greater<>(),
                             [](const auto& way) { return way.second.count; });
    for (const auto& [start, way] : sorted) {
      if (is_full()) break;
      if (std::ranges::count(taken, start) > 0) continue;
      taken.push_back(start);
      TokenIds path;
      for (size_t i = way.place; i < text_.size() && text_[i] != kNone; ++i) {
        if (std::ssize(path) == max_tokens) break;
        path.push_back(text_[i]);
      }
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

}  // namespace predgen

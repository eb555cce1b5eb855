#include "serve/openai/stop_strings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace predgen::serve {

std::string StopStrings::push(std::string_view text) {
  if (is_found_) return {};
  held_ += text;
  constexpr size_t kNone = std::string::npos;
  std::pair<size_t, size_t> first{kNone, kNone};  // end and begin of a stop string
  size_t certain = held_.size();
  for (const std::string& stop : strings_) {
    if (const size_t begin = held_.find(stop); begin != kNone) {
      first = std::min(first, {begin + stop.size(), begin});
    }
    size_t begun = std::min(stop.size() - 1, held_.size());  // of it, at the end of the text
    while (!held_.ends_with(std::string_view(stop).substr(0, begun))) --begun;
    certain = std::min(certain, held_.size() - begun);
  }
  is_found_ = first.first != kNone;
  std::string given = held_.substr(0, is_found_ ? first.second : certain);
  held_.erase(0, is_found_ ? kNone : given.size());
  return given;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

bool ends_in_loop(TokenSpan answer) {
  constexpr size_t kLongest = 64, kTimes = 4, kShortestLoop = 48;
  for (size_t period = 1; period <= kLongest; ++period) {
    const size_t length = std::max(kTimes * period, kShortestLoop);
    if (length > answer.size()) break;
    const TokenSpan end = answer.last(length);
    if (std::ranges::equal(end.first(length - period), end.last(length - period))) return true;
  }
  return false;
}

}  // namespace predgen::serve

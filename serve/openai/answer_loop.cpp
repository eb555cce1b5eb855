#include "serve/openai/answer_loop.h"

#include <algorithm>
#include <cstddef>

namespace predgen::serve {

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

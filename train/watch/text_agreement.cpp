#include "train/watch/text_agreement.h"

#include <algorithm>

#include "core/edit_distance.h"

namespace predgen::train {

double text_agreement(TokenSpan a, TokenSpan b) {
  const size_t longest = std::max(a.size(), b.size());
  if (longest == 0) return 1.0;
  return 1.0 - static_cast<double>(edit_distance(a, b)) / static_cast<double>(longest);
}

}  // namespace predgen::train

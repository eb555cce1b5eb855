#include "train/watch/text_agreement.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace predgen::train {

double text_agreement(TokenSpan a, TokenSpan b) {
  const size_t longest = std::max(a.size(), b.size());
  if (longest == 0) return 1.0;
  std::vector<size_t> edits(b.size() + 1);  // from the tokens of `a` so far to the first j of `b`
  std::iota(edits.begin(), edits.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = edits[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = edits[j + 1];
      edits[j + 1] = std::min({replaced, diagonal + 1, edits[j] + 1});
    }
  }
  return 1.0 - static_cast<double>(edits.back()) / static_cast<double>(longest);
}

}  // namespace predgen::train

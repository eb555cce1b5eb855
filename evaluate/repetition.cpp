#include "evaluate/repetition.h"

#include <iterator>
#include <set>
#include <sstream>
#include <vector>

namespace predgen::evaluate {

double repetition(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  if (words.size() < 4) return 0;
  std::set<std::string> seen;
  for (size_t i = 0; i + 4 <= words.size(); ++i) {
    seen.insert(words[i] + ' ' + words[i + 1] + ' ' + words[i + 2] + ' ' + words[i + 3]);
  }
  return 1.0 - static_cast<double>(seen.size()) / static_cast<double>(words.size() - 3);
}

}  // namespace predgen::evaluate

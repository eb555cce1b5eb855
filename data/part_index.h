#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/error.h"

namespace predgen::data {

/// Locates a record in concatenated parts.
class PartIndex {
 public:
  struct Place {
    size_t part = 0;
    int64_t index = 0;  // within the part
  };

  void add(int64_t part_size) { ends_.push_back(size() + part_size); }
  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  /// `index` in [0, size()).
  Place find(int64_t index) const {
    PREDGEN_CHECK(index >= 0 && index < size(), "record {} of {}", index, size());
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    return {static_cast<size_t>(end - ends_.begin()),
            index - (end == ends_.begin() ? 0 : *(end - 1))};
  }

 private:
  std::vector<int64_t> ends_;  // of each part: the first index after it
};

}  // namespace predgen::data

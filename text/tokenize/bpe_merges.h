#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/token_ids.h"

namespace predgen {

/// Which adjacent tokens merge into one, and in which order.
class BpeMerges {
 public:
  /// Room for `count` merges.
  explicit BpeMerges(size_t count);

  /// The lowest rank merges first; a later merge of the same pair replaces the earlier one. Ids and
  /// ranks are below 2^31.
  void add(TokenId left, TokenId right, size_t rank, TokenId merged);

  /// Merges in `ids`, beginning with the pair of lowest rank, the leftmost among equals, until no
  /// pair can be merged. O(n log n).
  void apply(TokenIds& ids) const;

 private:
  struct Merge {
    uint64_t pair;  // kNoPair: an empty slot
    int32_t rank, merged;
  };
  static constexpr uint64_t kNoPair = ~uint64_t{0};

  static uint64_t pair_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint64_t>(right);
  }
  /// The merge of `pair`, or the empty slot where it belongs.
  size_t find(uint64_t pair) const;
  void apply_to_few(TokenIds& ids) const;
  void apply_to_many(TokenIds& ids) const;

  std::vector<Merge> table_;  // open addressing, at most half full
  int shift_ = 63;            // from a hash to a slot
};

}  // namespace predgen

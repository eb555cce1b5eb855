#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <vector>

#include "model/sequence_state.h"

namespace predgen {

/// Keys and values [1,H,capacity,D] of each layer for consecutive positions of a text, and the
/// caches that read them. When swapped out, the capacity is 0 and the contents are in host memory.
class KvStorage {
 public:
  /// For so many positions from `begin` on. Makes room for them in the pool without swapping out
  /// what `but` reads. UserError if the pool is exhausted.
  KvStorage(KvPool& pool, int64_t begin, int64_t num_positions, const SequenceState* but);
  ~KvStorage();
  KvStorage(const KvStorage&) = delete;
  KvStorage& operator=(const KvStorage&) = delete;

  int64_t begin() const { return begin_; }
  int64_t end() const { return begin_ + num_positions(); }
  int64_t capacity() const { return capacity_; }
  bool is_swapped_out() const { return capacity_ == 0; }
  /// 0 unless swapped out.
  int64_t num_swapped_out() const { return num_swapped_out_; }
  int64_t num_positions() const { return is_swapped_out() ? num_swapped_out_ : capacity_; }

  /// Marks it as the most recently used.
  void touch();
  bool is_in_pass() const;
  void swap_out();
  /// Layer by layer, so that only one layer exists twice. Keeps `length` positions; not swapped out
  /// afterwards. Swaps out nothing that `but` reads. UserError if the pool is exhausted.
  void grow(int64_t new_capacity, int64_t length, const SequenceState* but);
  /// The positions [begin, end) from another storage.
  void copy_from(const KvStorage& other, int64_t begin, int64_t end);

  /// Moves the rows to + from[i] to to + i, in one launch of the layout's kernels for many layers.
  /// False if they do not take it.
  bool move_rows(int64_t to, std::span<const int64_t> from);

  std::vector<at::Tensor> keys, values;
  std::vector<const SequenceState*> readers;

 private:
  at::Tensor make_layer(size_t layer, int64_t num_positions) const;

  KvPool& pool_;
  const int64_t begin_;
  int64_t capacity_;
  int64_t num_swapped_out_ = 0;
};

}  // namespace predgen

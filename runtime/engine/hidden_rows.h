#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>

namespace predgen {

// Shapes: S first tokens of a sequence, T new ones, E hidden size.

/// What a model's last norm makes of each of a sequence's first tokens. Copies share their memory
/// until one of them writes.
class HiddenRows {
 public:
  /// [S,E], valid until the next write; undefined if there are none.
  at::Tensor rows() const;
  /// Rows of the tokens from `begin` on; those that were there are replaced. Does nothing where
  /// rows before `begin` are missing.
  void write(int64_t begin, const at::Tensor& rows_TE);
  /// Forgets the rows from `length` on.
  void truncate(int64_t length);
  /// Of the rows from `begin` on, keeps only begin + kept[0], begin + kept[1], ..
  void keep(int64_t begin, std::span<const int64_t> kept);

 private:
  /// Memory for rows [0,end), which no other copy has.
  void make_room(int64_t end, const at::TensorOptions& options, int64_t width);

  at::Tensor memory_;  // [capacity,E]
  int64_t length_ = 0;
};

}  // namespace predgen

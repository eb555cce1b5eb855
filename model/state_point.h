#pragma once

#include <cstdint>
#include <vector>

#include "model/sequence_state.h"

namespace predgen {

/// A snapshot: what layers that keep a state have after some positions of a text. Forks share it.
class StatePoint {
 public:
  /// Counts as one of the pool's; there must be room for it.
  StatePoint(KvPool& pool, int64_t length, std::vector<LayerState> layers);
  ~StatePoint();
  StatePoint(const StatePoint&) = delete;
  StatePoint& operator=(const StatePoint&) = delete;

  int64_t length() const { return length_; }
  const LayerState& layer(int64_t index) const { return layers_.at(static_cast<size_t>(index)); }
  bool is_swapped_out() const { return is_swapped_out_; }
  bool is_in_pass() const;
  /// Moves it to host memory.
  void swap_out();
  /// Moves it back, and makes room for it without swapping out what `but` reads. UserError if the
  /// pool is exhausted.
  void swap_in(const SequenceState* but);

  std::vector<const SequenceState*> readers;

 private:
  void move_to(at::Device device);

  KvPool& pool_;
  const int64_t length_;
  std::vector<LayerState> layers_;
  bool is_swapped_out_ = false;
};

}  // namespace predgen

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/kv_pool.h"

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

/// The snapshots of one sequence's layers that keep a state, by length; KvLayout says how many.
/// Those that are dropped for newer ones lie closest to their neighbours, compared with how far
/// back they are. Does nothing where all layers keep rows.
class StateHistory {
 public:
  /// Borrows both; the owner is whom the pool spares and swaps out.
  StateHistory(KvPool& pool, const SequenceState& owner) : pool_(pool), owner_(owner) {}
  ~StateHistory();
  StateHistory(const StateHistory&) = delete;
  StateHistory& operator=(const StateHistory&) = delete;

  /// Makes room for a pass after `length` positions. UserError if the pool is exhausted.
  void reserve(int64_t length);
  /// SequenceState::state().
  const LayerState& state(int64_t index, int64_t length);
  /// Ends a pass after `length` positions, with what it found or without.
  void commit(int64_t length, std::vector<NewStates> found);
  void cancel();

  /// SequenceState::return_point().
  int64_t return_point(int64_t length) const;
  void forget_after(int64_t length);
  bool is_swapped_out(int64_t length) const;
  /// Adds another one's to this empty one.
  void share(const StateHistory& other);

 private:
  /// Null: there is none.
  StatePoint* at(int64_t length) const;
  void add(std::shared_ptr<StatePoint> point);
  void drop(size_t index);
  size_t least_useful() const;

  KvPool& pool_;
  const SequenceState& owner_;
  std::vector<std::shared_ptr<StatePoint>> points_;  // the beginning has none
  int64_t num_expected_ = 0;                         // of the pass under way, in the pool's
};

}  // namespace predgen

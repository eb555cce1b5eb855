#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/kv_pool.h"
#include "model/state_history.h"

namespace predgen {

// Shapes: H key/value heads, S positions, D head size, T new positions.

/// What the layers of a model keep of one sequence. Some keep rows, keys and values of every
/// position, which can be forgotten from any place on. Others keep a state, which cannot be taken
/// back: the sequence can return only to points of which it has a snapshot. So nobody assumes rows:
/// can_return_to() says which lengths are possible, and what return_to() forgets runs again.
///
/// Rows are in pieces: a fork shares them. A sequence that would write where another one reads, or
/// that is full, goes on in a new piece where passes read pieces (KvLayout::in_pieces), or else
/// copies everything into one: attention needs it contiguous there. States are never written in
/// place, so snapshots and forks share them. Not thread-safe, nor are sequences that share pieces.
class SequenceState {
 public:
  /// The positions from `begin` to the next piece's: of a layer, [1,H,*,D] each.
  struct Piece {
    int64_t begin = 0;
    at::Tensor keys, values;
  };

  ~SequenceState();
  SequenceState(const SequenceState&) = delete;
  SequenceState& operator=(const SequenceState&) = delete;

  int64_t length() const { return length_; }
  const KvLayout& layout() const { return pool_.layout(); }
  /// Positions that it may ever hold.
  int64_t capacity() const { return capacity_; }

  /// Writes keys and values [1,H,T,D] of `layer` after the first length() positions. Returns views
  /// [1,H,length()+T,D] of all of them, valid until the next append() of this layer. length()
  /// changes only in commit(), so a forward pass that throws half-way changes nothing.
  /// UserError if the pool is exhausted.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, const at::Tensor& keys_1HTD,
                                           const at::Tensor& values_1HTD);

  /// What append() of this layer returned in the pass under way, for layers that read its rows,
  /// too.
  std::pair<at::Tensor, at::Tensor> appended(int64_t layer) const;

  /// For a pass that writes rows itself: the storage [1,H,*,D] of keys and of values of
  /// `layer`, where the positions from length() to length() + num_new - 1 may be written until
  /// commit(). UserError if the pool is exhausted.
  std::pair<at::Tensor, at::Tensor> writable(int64_t layer, int64_t num_new);
  /// The same in pieces, at least one; as many in each layer. `found` is replaced, in its room.
  void pieces(int64_t layer, int64_t num_new, std::vector<Piece>& found);

  /// What the layer `index` of those that keep a state has after length() positions; in a pass.
  const LayerState& state(int64_t index) { return states_.state(index, length_); }

  /// Makes room for `num_new` positions after length(). From here on, or from the first append() or
  /// writable(), until commit(), cancel() or return_to(), the sequence is in a pass and cannot be
  /// swapped out. UserError if the pool is exhausted.
  void reserve(int64_t num_new);
  /// Whether its contents are in host memory, until the next write.
  bool is_swapped_out() const;

  /// Makes `num_tokens` appended positions permanent; called once, after the last layer. `states`:
  /// of the layers that keep one, at the snapshot_points() of the step.
  void commit(int64_t num_tokens, std::vector<NewStates> states = {});
  /// Ends the pass without its positions.
  void cancel();

  /// The largest length up to `length`, in [0, length()], from which the sequence can go on without
  /// running again what is before it. Where all layers keep rows this is `length`.
  int64_t return_point(int64_t length) const { return states_.return_point(length); }
  bool can_return_to(int64_t length) const { return return_point(length) == length; }
  /// Forgets every position from return_point(length) on, and returns that. O(1): no memory moves.
  int64_t return_to(int64_t length);

  /// Of the positions from `begin` on, keeps only begin + kept[0], begin + kept[1], ..: one path
  /// through a tree of tokens. `kept` ascends strictly. Where a layer keeps a state, which knows no
  /// path, it returns to `begin` instead.
  void keep(int64_t begin, std::span<const int64_t> kept);

  /// Of a sequence with the same positions, computed and stored once until either writes where the
  /// other reads.
  std::unique_ptr<SequenceState> fork() const;

 private:
  friend class KvPool;
  friend class KvStorage;
  friend class StatePoint;
  SequenceState(KvPool& pool, int64_t capacity);

  /// What a write leaves of the pieces: the first `count`, up to `end`.
  struct Kept {
    size_t count;
    int64_t end;
  };
  Kept kept_by_write(int64_t begin) const;
  bool reads(const KvStorage& storage) const;
  bool reads(const StatePoint& point) const;
  /// Up to where it reads `storage`, one of its pieces.
  int64_t read_end(const KvStorage& storage) const;

  /// Makes the positions [begin, end) writable: allocated, and read by no other cache. `end` is at
  /// least length(); what is cached stays.
  void prepare_write(int64_t begin, int64_t end);
  /// Adds a piece for what lies beyond `kept`. False if the pool has no room for it beside them.
  bool add_piece(const Kept& kept, int64_t end);
  void make_contiguous(int64_t end);
  /// The positions from `begin` to length() into `to`.
  void copy_to(KvStorage& to, int64_t begin) const;
  /// Replaces the pieces after the first `count`; null: by none.
  void replace_pieces(size_t count, std::shared_ptr<KvStorage> by);
  /// Of keys or values of a layer, the positions [begin, end) as parts of the pieces.
  std::vector<at::Tensor> parts(std::vector<at::Tensor> KvStorage::*side, size_t layer,
                                int64_t begin, int64_t end) const;
  void move_path(int64_t begin, std::span<const int64_t> kept);

  KvPool& pool_;
  const int64_t capacity_;
  /// By position; each is read up to where the next one begins.
  std::vector<std::shared_ptr<KvStorage>> pieces_;
  int64_t length_ = 0;
  int64_t write_end_ = 0;  // where the pass under way has written up to
  StateHistory states_;
};

}  // namespace predgen

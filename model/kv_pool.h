#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace predgen {

struct GpuKernels;

/// What a layer with a state of fixed size keeps of the text so far. Empty: the beginning.
using LayerState = std::vector<at::Tensor>;

/// What all layers that keep a state have after so many new tokens of a pass.
struct NewStates {
  int64_t num_new = 0;
  std::vector<LayerState> layers{};
};

/// What a model keeps of a sequence: keys and values for every position in some layers, and in
/// others a state of fixed size.
struct KvLayout {
  int64_t num_layers = 0;  // that keep keys and values
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  at::TensorOptions options{};  // type and device
  /// Where layers differ: for each, how many heads it keeps, and their size.
  std::vector<std::pair<int64_t, int64_t>> own_heads{};
  /// The model's passes read a cache piece by piece (SequenceState::pieces()). So neither a fork
  /// nor growth copies what is there.
  bool in_pieces = false;
  /// Positions that a sequence's storage begins with, where the pool has no limit. On a GPU growth
  /// takes longer than a pass.
  int64_t first_positions = 256;
  /// For storage on a GPU, if they run there and all layers have the same heads; null: LibTorch's
  /// operators move rows.
  const GpuKernels* kernels = nullptr;
  /// Of a model that guesses for another one: the two layers of that one whose rows it reads, among
  /// those that keep rows. Empty: it reads none.
  std::vector<int64_t> read_layers{};
  /// Layers that keep a state, and the bytes of a snapshot: of all their states after one position.
  int64_t num_states = 0, bytes_per_snapshot = 0;
  /// Snapshots that a sequence has at most; at least 2.
  int64_t max_snapshots = 8;

  std::pair<int64_t, int64_t> heads(int64_t layer) const {
    return own_heads.empty() ? std::pair{num_kv_heads, head_dim}
                             : own_heads.at(static_cast<size_t>(layer));
  }
  int64_t bytes_per_position() const;
  /// How many positions a snapshot takes as much memory as.
  int64_t positions_per_snapshot() const;
  /// Of a pass, around its last tokens (snapshot_points()), and before them, every
  /// kSnapshotDistance positions.
  int64_t newest_snapshots() const { return std::min<int64_t>(4, max_snapshots - 1); }
  int64_t spaced_snapshots() const { return std::clamp<int64_t>((max_snapshots - 6) / 2, 0, 4); }
};

/// A text that is revised runs so many of its tokens again at most, as far back as there are
/// KvLayout::spaced_snapshots().
constexpr int64_t kSnapshotDistance = 32;

class KvStorage;
class SequenceState;
class StatePoint;

/// Storage for what one model keeps of sequences. A sequence's storage grows with its contents and
/// is freed with it. When the pool is full, the least recently used sequences are swapped out:
/// their contents move to host memory, and back when they are next written. Must outlive them. Used
/// by one thread.
class KvPool {
 public:
  /// `max_positions`: of all sequences together; shared ones count once, swapped-out ones not at
  /// all, and a snapshot as KvLayout::positions_per_snapshot().
  explicit KvPool(const KvLayout& layout,
                  int64_t max_positions = std::numeric_limits<int64_t>::max());
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  /// Of an empty sequence of at most `capacity` positions. Storage is allocated with the first of
  /// them.
  std::unique_ptr<SequenceState> make_state(int64_t capacity);

  const KvLayout& layout() const { return layout_; }
  /// Positions that a sequence's storage begins with.
  int64_t first_positions() const {
    const bool is_limited = max_positions_ < std::numeric_limits<int64_t>::max();
    return is_limited ? KvLayout().first_positions : layout_.first_positions;
  }
  /// Positions for which there is storage now.
  int64_t num_allocated() const { return num_allocated_; }
  int64_t num_free() const {
    return max_positions_ - num_allocated_ -
           (num_snapshots() + num_expected_) * layout_.positions_per_snapshot();
  }
  /// Snapshots of states that are not in host memory now; shared ones count once.
  int64_t num_snapshots() const;
  /// Positions that are in host memory now.
  int64_t num_swapped_out() const { return num_swapped_out_; }
  /// Positions copied so far: of forks that parted, of caches that grew, of those swapped in.
  int64_t num_copied() const { return num_copied_; }

 private:
  friend class SequenceState;
  friend class KvStorage;
  friend class StateHistory;
  friend class StatePoint;
  /// Makes room for so many more by swapping out what `but` does not read. UserError if too few can
  /// be.
  void make_room(int64_t num_positions, const SequenceState* but);
  /// Free, or in storage and snapshots that `but` does not read and that may be swapped out.
  int64_t num_available(const SequenceState* but) const;

  const KvLayout layout_;
  const int64_t max_positions_;
  int64_t num_allocated_ = 0, num_swapped_out_ = 0, num_copied_ = 0;
  int64_t num_expected_ = 0;          // snapshots, of passes under way
  std::vector<KvStorage*> storages_;  // least recently used first
  std::vector<StatePoint*> points_;   // oldest first
};

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

#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace predgen {

// Shapes: H key/value heads, S positions, D head size, T new positions.

/// The keys and values that a model keeps for every position of a sequence.
struct KvLayout {
  int64_t num_layers = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  at::TensorOptions options{};  // type and device
  /// The model's passes read a cache piece by piece (KvCache::pieces()). So neither a fork nor
  /// growth copies what is there.
  bool in_pieces = false;

  int64_t bytes_per_position() const;
};

class KvCache;
class KvStorage;

/// Storage for the KV caches of one model. A cache's storage grows with its contents and is freed
/// with it. When the pool is full, the least recently used caches are parked: their contents move
/// to host memory, and back when they are next written. Must outlive them. Used by one thread.
class KvPool {
 public:
  /// `max_positions`: of all caches together; shared ones count once, parked ones not at all.
  explicit KvPool(const KvLayout& layout,
                  int64_t max_positions = std::numeric_limits<int64_t>::max());
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  /// An empty cache for at most `capacity` positions. Storage is allocated with the first of them.
  std::unique_ptr<KvCache> make_cache(int64_t capacity);

  const KvLayout& layout() const { return layout_; }
  /// Positions for which there is storage now.
  int64_t num_allocated() const { return num_allocated_; }
  int64_t num_free() const { return max_positions_ - num_allocated_; }
  /// Positions that are in host memory now.
  int64_t num_parked() const { return num_parked_; }
  /// Positions copied so far: of forks that parted, of caches that grew, of restored ones.
  int64_t num_copied() const { return num_copied_; }

 private:
  friend class KvCache;
  friend class KvStorage;
  /// Makes room for so many more by parking what `but` does not read. UserError if too few can be.
  void make_room(int64_t num_positions, const KvCache* but);
  /// Free, or in storage that `but` does not read and that may be parked.
  int64_t num_available(const KvCache* but) const;

  const KvLayout layout_;
  const int64_t max_positions_;
  int64_t num_allocated_ = 0, num_parked_ = 0, num_copied_ = 0;
  std::vector<KvStorage*> storages_;  // least recently used first
};

/// Attention keys and values of one sequence, for every layer, in pieces: a fork shares them. A
/// cache that would write where another one reads, or that is full, goes on in a new piece where
/// passes read pieces (KvLayout::in_pieces), or else copies everything into one: attention needs
/// it contiguous there. Not thread-safe, nor are caches that share pieces.
class KvCache {
 public:
  /// The positions from `begin` to the next piece's: of a layer, [1,H,*,D] each.
  struct Piece {
    int64_t begin = 0;
    at::Tensor keys, values;
  };

  ~KvCache();
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  int64_t length() const { return length_; }
  /// Positions that it may ever hold.
  int64_t capacity() const { return capacity_; }

  /// Writes keys and values [1,H,T,D] of `layer` after the first length() positions. Returns views
  /// [1,H,length()+T,D] of all of them, valid until the next append() of this layer. length()
  /// changes only in commit(), so a forward pass that throws half-way leaves the cache as it was.
  /// UserError if the pool is exhausted.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, const at::Tensor& keys_1HTD,
                                           const at::Tensor& values_1HTD);

  /// For a pass that writes the cache itself: the storage [1,H,*,D] of keys and of values of
  /// `layer`, where the positions from length() to length() + num_new - 1 may be written until
  /// commit(). UserError if the pool is exhausted.
  std::pair<at::Tensor, at::Tensor> writable(int64_t layer, int64_t num_new);
  /// The same in pieces, at least one; as many in each layer. `found` is replaced, in its room.
  void pieces(int64_t layer, int64_t num_new, std::vector<Piece>& found);

  /// Makes room for `num_new` positions after length(). From here on, or from the first append() or
  /// writable(), until commit() or truncate(), the cache is in a pass and cannot be parked.
  /// UserError if the pool is exhausted.
  void reserve(int64_t num_new);
  /// Whether its contents are in host memory, until the next write.
  bool is_parked() const;

  /// Makes `num_tokens` appended positions permanent; called once, after the last layer.
  void commit(int64_t num_tokens);

  /// Forgets every position from `length` on; length in [0, length()]. O(1): no memory moves.
  void truncate(int64_t length);

  /// Of the positions from `begin` on, keeps only begin + kept[0], begin + kept[1], ..: one path
  /// through a tree of tokens. `kept` ascends strictly.
  void keep(int64_t begin, std::span<const int64_t> kept);

  /// A cache with the same positions, computed and stored once until either writes where the other
  /// reads.
  std::unique_ptr<KvCache> fork() const;

 private:
  friend class KvPool;
  friend class KvStorage;
  KvCache(KvPool& pool, int64_t capacity);

  /// What a write leaves of the pieces: the first `count`, up to `end`.
  struct Kept {
    size_t count;
    int64_t end;
  };
  Kept kept_by_write(int64_t begin) const;
  bool reads(const KvStorage& storage) const;
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

  KvPool& pool_;
  const int64_t capacity_;
  /// By position; each is read up to where the next one begins.
  std::vector<std::shared_ptr<KvStorage>> pieces_;
  int64_t length_ = 0;
  int64_t write_end_ = 0;  // where the pass under way has written up to
};

}  // namespace predgen

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "data/hdf5_store.h"

namespace predgen::data {

/// Holds a lock on one byte of a LockFile, which must outlive it.
class ByteLock {
 public:
  ByteLock(ByteLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), byte_(other.byte_) {}
  ByteLock(const ByteLock&) = delete;
  ByteLock& operator=(const ByteLock&) = delete;
  ~ByteLock();

 private:
  friend class LockFile;
  ByteLock(int descriptor, int64_t byte) : descriptor_(descriptor), byte_(byte) {}

  int descriptor_;
  int64_t byte_;
};

/// A file with locks on its bytes, which need not exist, by which processes divide work, on one
/// machine or on several that share a file system. When a process ends in any way, its locks are
/// freed. Each object competes with all others, also within a process; its own locks do not.
class LockFile {
 public:
  /// Opens the file for reading and writing; creates it, empty, if missing.
  explicit LockFile(const std::filesystem::path& file);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  /// None if another object holds the lock. UserError on a file system without locks.
  std::optional<ByteLock> try_lock(int64_t byte) const;
  /// Waits for the lock.
  ByteLock lock(int64_t byte) const;

  /// Replaces what the file holds, in place, and fsyncs it. A kill may leave a prefix of `text`.
  void overwrite(const std::string& text) const;

 private:
  bool request(int command, int64_t byte) const;

  const std::filesystem::path file_;
  int descriptor_ = -1;
};

/// One of several processes that share the work.
struct RankShare {
  int64_t rank = 0;
  int64_t num_ranks = 1;
};

/// The folder of a dataset that any number of processes write together, on one machine or on
/// several that share a file system. Its records come in pieces, 0, 1, .., each one shard, written
/// by the process that claims it; when a process ends, pieces it has claimed but not written are
/// free again. Until the dataset is finished, recipe.json holds the recipe and the claims (locks on
/// its bytes). Processes communicate only via the folder: none waits for one that has ended.
class PieceFolder {
 public:
  /// Joins a build in progress, or begins one. UserError if the folder holds anything else.
  PieceFolder(const std::filesystem::path& folder, const Json& recipe, int64_t num_pieces);

  /// Whether the manifest exists.
  bool is_finished() const;
  /// Number of pieces on disk now, written by any process.
  int64_t num_written();

  struct Piece {
    int64_t index;
    ByteLock lock;
  };
  /// Claims a piece that is neither written nor claimed: first from the numbers rank, rank +
  /// num_ranks, .., then from the other ranks'. None if there is none now.
  std::optional<Piece> claim(const RankShare& share);
  /// `counters`: a tree of numbers, summed over all pieces.
  void write(Piece piece, const RecordColumns& records, const Json& counters);

  /// Once all pieces are written: writes the manifest. False if another process has written it.
  /// UserError if a piece is damaged.
  bool finish();

 private:
  std::filesystem::path file_of(int64_t piece) const;
  bool is_written(int64_t piece);
  void begin() const;

  const std::filesystem::path folder_;
  const Json recipe_;
  std::optional<LockFile> claims_;  // none if it was finished before
  std::vector<bool> written_;
};

}  // namespace predgen::data

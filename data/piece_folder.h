#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "data/lock_file.h"
#include "data/record_columns.h"

namespace predgen::data {

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

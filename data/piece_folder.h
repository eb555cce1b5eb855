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

/// One of the processes that share a work.
struct RankShare {
  int64_t rank = 0;
  int64_t num_ranks = 1;
};

/// The folder of a dataset that any number of processes write together, on one machine or on
/// several that share a file system. Its records come in pieces, 0, 1, .., each a shard, which
/// whoever claims it writes; what a process that ends has claimed but not written is free again.
/// Until it is finished, recipe.json there holds the recipe and the claims, locks on its bytes.
/// Processes talk by the folder only: none waits for another one that has ended.
class PieceFolder {
 public:
  /// Joins those that are at it, or begins. UserError if the folder holds anything else.
  PieceFolder(const std::filesystem::path& folder, const Json& recipe, int64_t num_pieces);

  /// Whether the manifest is there.
  bool is_finished() const;
  /// Pieces that are on disk now, whoever wrote them.
  int64_t num_written();

  struct Piece {
    int64_t index;
    ByteLock lock;
  };
  /// A piece that is neither written nor claimed: of those with numbers rank, rank + num_ranks, ..
  /// first, then of the other ranks'. Nothing if there is none now.
  std::optional<Piece> claim(const RankShare& share);
  /// `counters`: a tree of numbers; those of all pieces are added up.
  void write(Piece piece, const RecordColumns& records, const Json& counters);

  /// Once all pieces are written: the manifest. False if another process has written it. UserError
  /// if a piece is damaged.
  bool finish();

 private:
  std::filesystem::path file_of(int64_t piece) const;
  bool is_written(int64_t piece);
  void begin() const;

  const std::filesystem::path folder_;
  const Json recipe_;
  std::optional<LockFile> claims_;  // nothing where it was finished before
  std::vector<bool> written_;
};

}  // namespace predgen::data

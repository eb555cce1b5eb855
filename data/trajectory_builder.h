#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/json.h"
#include "core/progress.h"
#include "data/dataset_store.h"
#include "data/piece_folder.h"
#include "data/trajectory_collector.h"
#include "data/trajectory_config.h"
#include "runtime/engine/engine.h"
#include "text/tokenizer.h"

namespace predgen::data {

/// `predgen data trajectories`: copies the records of a dataset to config.output, in pieces of one
/// shard each, and adds the trajectories of a model's answers. Any number of processes can share
/// the work, and later ones continue where earlier ones stopped. A piece's contents do not depend
/// on who makes it. Borrows config and tokenizer.
class TrajectoryBuild {
 public:
  /// Begins or joins a build. `model_hash` identifies the weights in the recipe. UserError if the
  /// dataset was made with another tokenizer, or config.output holds anything else.
  TrajectoryBuild(const TrajectoryConfig& config, const std::string& model_hash,
                  const Tokenizer& tokenizer);

  bool is_finished() const { return folder_.is_finished(); }
  int64_t num_pieces() const;
  /// Returns when the dataset is finished, by any process: true if by this one. Rank 0 shows the
  /// progress. Throws Interrupted between passes; written pieces stay.
  bool run(Engine& engine, const RankShare& share, const std::stop_token& stop);

 private:
  Json recipe(const std::string& model_hash) const;
  void write_piece(PieceFolder::Piece piece, Engine& engine, Progress* progress,
                   const std::stop_token& stop);
  /// Adds the record to `records` or drops it, and counts it.
  void keep(Record& record, Trajectory& trajectory, RecordColumns& records, Json& counters) const;

  const TrajectoryConfig& config_;
  const Tokenizer& tokenizer_;
  const std::unique_ptr<DatasetReader> dataset_;
  const int64_t num_records_;  // of the dataset, at most max_records
  PieceFolder folder_;
};

}  // namespace predgen::data

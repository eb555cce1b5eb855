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

/// `predgen data trajectories`: the records of a dataset, in pieces of so many, become those of
/// config.output, a piece a shard, with the trajectories of a model's answers. Any number of
/// processes do it together, and later ones go on where earlier ones were stopped. What a piece
/// becomes does not depend on who makes it. Borrows config and tokenizer.
class TrajectoryBuild {
 public:
  /// Begins or joins. `model_hash` names the weights in the recipe. UserError if the dataset was
  /// made for another tokenizer, or config.output holds anything else.
  TrajectoryBuild(const TrajectoryConfig& config, const std::string& model_hash,
                  const Tokenizer& tokenizer);

  bool is_finished() const { return folder_.is_finished(); }
  int64_t num_pieces() const;
  /// Returns when the dataset is finished, be it by other processes: whether it was this one. Rank
  /// 0 shows the progress. Throws Interrupted between passes: what was written stays.
  bool run(Engine& engine, const RankShare& share, const std::stop_token& stop);

 private:
  Json recipe(const std::string& model_hash) const;
  void write_piece(PieceFolder::Piece piece, Engine& engine, Progress* progress,
                   const std::stop_token& stop);
  /// Adds the record to `records`, or drops it, and counts.
  void keep(Record& record, Trajectory& trajectory, RecordColumns& records, Json& counters) const;

  const TrajectoryConfig& config_;
  const Tokenizer& tokenizer_;
  const std::unique_ptr<DatasetReader> dataset_;
  const int64_t num_records_;  // of the dataset, as many as are wanted
  PieceFolder folder_;
};

}  // namespace predgen::data

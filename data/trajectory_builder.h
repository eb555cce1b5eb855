#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/progress.h"
#include "data/build_config.h"
#include "data/dataset_store.h"
#include "data/piece_folder.h"
#include "runtime/engine/engine.h"
#include "text/tokenizer.h"

namespace predgen::data {

struct CollectorConfig {
  int64_t block_size = 16;
  int64_t max_new_tokens = 256;
  int64_t batch_tokens = 1024;      // of all answers together in one pass
  int64_t cache_positions = 32768;  // that all answers under way may eventually need
  uint64_t seed = 0;
  TokenIds stop_tokens;
};

struct TrajectoryPrompt {
  uint64_t index = 0;  // of the record: random guesses depend on (seed, index, block) only
  TokenIds tokens;
};

/// The greedy answer of one prompt, solved block by block.
struct Trajectory {
  TokenIds answer;  // up to and including the stop token, or max_new_tokens
  bool stopped = false;
  std::vector<TrajectoryBlock> blocks;  // whole blocks, the last one possibly beyond the answer
};

/// Solves the answer of each prompt, a sequence each, many at a time. A block starts as the token
/// that the model has already chosen and n-1 random tokens of the sequence so far; each forward
/// pass gives the next state, until the state reproduces itself. A pass holds the unsolved part of
/// as many blocks as batch_tokens allows; a finished answer makes room for the next prompt. The
/// same prompts and configuration give the same passes.
/// Every prompt must leave room for one block within the model's positions; answers end where the
/// next block would not fit. `on_solved` gets the number of finished answers. Throws Interrupted
/// between passes if stopped.
std::vector<Trajectory> collect_trajectories(
    Engine& engine, std::span<const TrajectoryPrompt> prompts, const CollectorConfig& config,
    const std::stop_token& stop,
    const std::function<void(int64_t num_solved)>& on_solved = [](int64_t) {});

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

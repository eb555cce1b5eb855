#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "data/record.h"
#include "runtime/engine/engine.h"

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

}  // namespace predgen::data

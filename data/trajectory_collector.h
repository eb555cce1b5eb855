#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "data/record.h"
#include "runtime/engine/engine.h"

namespace predgen {

struct CollectorConfig {
  int64_t block_size = 16;
  int64_t max_answer_tokens = 256;
  uint64_t seed = 0;
  TokenIds stop_tokens;
};

struct TrajectoryPrompt {
  uint64_t index = 0;  // of the record: random guesses depend on (seed, index, block) only
  TokenIds tokens;
};

/// The greedy answer of one prompt, solved block by block.
struct Trajectory {
  TokenIds answer;  // up to the stop token, included, or max_answer_tokens
  bool stopped = false;
  std::vector<TrajectoryBlock> blocks;  // whole blocks, the last one possibly beyond the answer
};

/// Solves the answers of all prompts together, a sequence each. A block starts as the token
/// that the model has already chosen and n-1 random tokens of the sequence so far; each forward
/// pass gives the next state, until the state reproduces itself. Answers go through their blocks
/// in step: a block takes as many passes as the slowest of them needs.
/// Every prompt must leave room for one block within the model's positions; answers end where the
/// next block would not fit. Interrupted if stopped.
std::vector<Trajectory> collect_trajectories(Engine& engine,
                                             std::span<const TrajectoryPrompt> prompts,
                                             const CollectorConfig& config,
                                             const std::stop_token& stop);

}  // namespace predgen

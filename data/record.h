#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/token_ids.h"

namespace predgen::data {

/// One block of a Jacobi trajectory: `states` are its iterates, from the untouched random guess to
/// the fixed point (last); all have n tokens; the last block of an answer may end in tokens after
/// the stop token, which must not be trained on.
struct TrajectoryBlock {
  std::vector<TokenIds> states;
};

/// One training example.
struct Record {
  std::string conversation_id;
  int64_t round = 0;               // index of the last user turn
  TokenIds tokens;                 // prompt, answer, stop token
  std::vector<uint8_t> loss_mask;  // same size; 1: this token is a target of the cross-entropy
  int64_t prompt_length = 0;       // where the last answer begins in `tokens`; all of them if
                                   // there is none
  /// Where questions begin that stand alone: each sees the tokens before the first of them, and
  /// itself. Ascending, within (0, tokens); empty: all is one sequence.
  std::vector<int64_t> branches;
  std::vector<TrajectoryBlock> blocks;  // empty unless `data trajectories` made it. Block b covers
                                        // answer positions [b*n, (b+1)*n) after the prompt
};

}  // namespace predgen::data

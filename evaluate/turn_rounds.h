#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evaluate/eval_turn.h"

namespace predgen::evaluate {

/// The number of the user's turn in its conversation, from 1; worked examples of a question do not
/// count.
int64_t round_of(const std::vector<EvalTurn>& turns, size_t index);

/// The share of all words output by a recogniser in a turn that a later transcript revised. nullopt
/// if none are recorded.
std::optional<double> revised_share(const std::vector<Transcript>& recorded);

}  // namespace predgen::evaluate

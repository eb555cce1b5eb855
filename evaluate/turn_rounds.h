#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "evaluate/eval_turn.h"

namespace predgen::evaluate {

/// The user's how-manieth turn it is in its conversation, from 1; worked examples of a question
/// are none.
int64_t round_of(const std::vector<EvalTurn>& turns, size_t index);

/// Of all words that a recogniser gave out in a turn the share that a later transcript took back.
/// Nothing where none are recorded.
std::optional<double> revised_share(const std::vector<Transcript>& recorded);

}  // namespace predgen::evaluate

#pragma once

#include <vector>

#include "core/json.h"
#include "evaluate/run_methods.h"
#include "evaluate/turn_sets.h"

namespace predgen {

/// Of the answers to turns with a right answer, null when there are none: {"share", "low", "high"
/// (95 %), "count", "n"} by the flexible rule (Extraction), the same under "strict" by the strict
/// one, and under "by_category" by category where the set has categories.
Json describe_accuracy(const std::vector<const EvalRow*>& rows, const TurnSet& turns);

/// Adds to the row's fields of results.json what is right, and whether the answer is.
void add_grade(const Grade& grade, const EvalTurn& turn, Json& json);

}  // namespace predgen

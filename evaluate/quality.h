#pragma once

#include "core/json.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {

// Quality of answers by their texts, for results.json. A share of turns is {"share", "low",
// "high" (95 %), "count", "n"}. Null if no turn has the data.

/// Of turns with a right answer or call: a share, of answers by the flexible rule (Extraction) with
/// one by the strict rule under "strict", and under "by_category" by category where the set has
/// categories.
Json describe_accuracy(const Rows& rows, const TurnSet& turns);

/// Of turns with a reference: "same_act", a share, and "known_values", the part of all names and
/// numbers in the answers that is not invented (TaskAnswer).
Json describe_task_answers(const Rows& rows, const TurnSet& turns);

/// Share of the texts that differ from those of `baseline`; entry i of both is of the same turn.
Json describe_changed_texts(const Rows& baseline, const Rows& rows);

/// Adds to a row the measures that need only the texts.
void add_quality(const EvalTurn& turn, Json& row);

}  // namespace predgen::evaluate

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/eval_turn.h"
#include "evaluate/run_methods.h"
#include "evaluate/turn_sets.h"
#include "runtime/converse/turn.h"

namespace predgen::evaluate {

/// The share of the final transcript's characters heard by the time the answer's first sentence was
/// drafted for good (it stayed in every draft until the end). nullopt if it was not kept from the
/// last draft. Needs the texts of the turn's events (TurnConfig::trace_bytes).
std::optional<double> heard_share(const TurnResult& result);

/// The number of the user's turn in its conversation, from 1; worked examples of a question do not
/// count.
int64_t round_of(const std::vector<EvalTurn>& turns, size_t index);

/// The share of all words output by a recogniser in a turn that a later transcript revised. nullopt
/// if none are recorded.
std::optional<double> revised_share(const std::vector<Transcript>& recorded);

/// A row is one method's result on one turn, as stored in results.json and a journal. Reports and
/// comparisons are made from rows alone, so it does not matter which run they come from.
using Rows = std::vector<const Json*>;

/// The metrics for which every row has a number or null.
std::vector<std::string> metric_names();

/// {"rows": one for each of the run's, "failed"}.
Json to_json(const EvalRun& run, const TurnSet& set);

/// A row's value; nullopt for null.
std::optional<double> value_of(const Json& row, const std::string& metric);
std::vector<std::optional<double>> values_of(const Rows& rows, const std::string& metric);

/// Single turns for a report: removes "trace" from the rows of a run, and returns those of three
/// turns as [{"turn", "id", "method", "why", "against", "events"}, ..]. "why": the saving in TTFS
/// of the first method that drafts ("against") is the median one ("typical"), the most ("best") or
/// the least ("worst") of these turns.
Json take_timelines(Json& rows, const std::vector<std::string>& methods);

}  // namespace predgen::evaluate

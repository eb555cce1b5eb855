#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/run_methods.h"
#include "evaluate/turn_sets.h"

namespace predgen::evaluate {

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

}  // namespace predgen::evaluate

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/run_methods.h"
#include "evaluate/turn_sets.h"

namespace predgen::evaluate {

/// One row is what one method did with one turn, as results.json and a journal hold it. Reports and
/// comparisons are made from rows alone, so it does not matter which run they come from.
using Rows = std::vector<const Json*>;

/// What every row has a number of, or null.
std::vector<std::string> metric_names();

/// {"rows": one for each of the run's, "failed"}.
Json to_json(const EvalRun& run, const TurnSet& set);

/// Of a row: nothing for null.
std::optional<double> value_of(const Json& row, const std::string& metric);
std::vector<std::optional<double>> values_of(const Rows& rows, const std::string& metric);

}  // namespace predgen::evaluate

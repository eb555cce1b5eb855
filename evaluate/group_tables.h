#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// The keys that group a run's turns: "source", "last_change", "length".
const std::vector<std::string>& group_names();

/// "Where it pays" for a terminal: the groups of each run by one of group_names(), a line for each
/// method, and what the columns mean. Says so if no turn is in a group.
std::string groups_text(const Json& report, const std::string& by);

/// The same of one run, for the page: "title", "columns" (each "title" and "meaning"), "groups"
/// (each "title" and "rows" of texts, of which the first is the method), and "missing": why there
/// are none, or "".
Json group_table(const Json& run, const std::string& by);

}  // namespace predgen::evaluate

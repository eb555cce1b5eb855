#pragma once

#include <string>
#include <vector>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// The keys that group a run's turns: "source", "last_change", "length".
const std::vector<std::string>& group_names();

/// "Where it pays" for a terminal: the groups of each run by one of group_names(), a line for each
/// method, and what the columns mean. Says so if no turn is in a group.
std::string groups_text(const Json& report, const std::string& by);

/// All groups of a run, for the page. HTML.
std::string groups_tables(const RunView& run);

}  // namespace predgen::evaluate

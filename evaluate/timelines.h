#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// Single turns for a report: removes "trace" from the rows of a run, and returns those of three
/// turns as [{"turn", "id", "method", "why", "against", "events"}, ..]. "why": the saving in TTFS
/// of the first method that drafts ("against") is the median one ("typical"), the most ("best") or
/// the least ("worst") of these turns.
Json take_timelines(Json& rows, const std::vector<std::string>& methods);

}  // namespace predgen::evaluate

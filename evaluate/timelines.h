#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// What a report shows of single turns: takes "trace" out of the rows of a run, and of three turns
/// that have one returns them as [{"turn", "id", "method", "why", "against", "events"}, ..]. "why":
/// the saving in TTFS of the first method that drafts ("against") is the median one ("typical"),
/// the most ("best") or the least ("worst") of these turns.
Json take_timelines(Json& rows, const std::vector<std::string>& methods);

}  // namespace predgen::evaluate

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/turn_rows.h"

namespace predgen::evaluate {

/// The costs that are compared: a draft model's passes count by their cost in passes of the model.
std::vector<std::optional<double>> costs_of(const Rows& rows, const std::string& metric);

/// Baseline / method: how many times less the method needs, over turns whose first sentence has
/// `at_least` tokens in the baseline. Row i of both is of the same turn. An Estimate, or null.
Json saving(const Rows& baseline, const Rows& method, const std::string& metric, int64_t at_least);

}  // namespace predgen::evaluate

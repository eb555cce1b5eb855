#pragma once

#include <optional>

#include "runtime/converse/turn.h"

namespace predgen::evaluate {

/// Of the final transcript's characters the share that had been heard when the first sentence of
/// the answer was drafted and then stayed in every draft until the end. Nothing where it was not
/// kept from the last draft. Needs the texts of the turn's events (TurnConfig::trace_bytes).
std::optional<double> heard_share(const TurnResult& result);

}  // namespace predgen::evaluate

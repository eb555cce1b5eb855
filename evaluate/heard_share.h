#pragma once

#include <optional>

#include "runtime/converse/turn.h"

namespace predgen::evaluate {

/// The share of the final transcript's characters heard by the time the answer's first sentence was
/// drafted for good (it stayed in every draft until the end). nullopt if it was not kept from the
/// last draft. Needs the texts of the turn's events (TurnConfig::trace_bytes).
std::optional<double> heard_share(const TurnResult& result);

}  // namespace predgen::evaluate

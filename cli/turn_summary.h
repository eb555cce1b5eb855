#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/converse/turn.h"

namespace predgen::cli {

/// A line about how long the user waited, and what the draft was worth.
std::string turn_summary(const TurnMetrics& metrics);

/// Why the answer is not whole, and what changes that; nothing: it is.
std::optional<std::string> cut_message(const TurnResult& result);

/// What is said when the context has no room for the oldest rounds.
std::string dropped_rounds_message(int64_t num_rounds);

}  // namespace predgen::cli

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/converse/turn.h"

namespace predgen::cli {

/// A line about how long the user waited, and how useful the draft was.
std::string turn_summary(const TurnMetrics& metrics);

/// Why the answer is incomplete, and what changes that; nullopt: it is complete.
std::optional<std::string> cut_message(const TurnResult& result);

/// The message when the context has no room for the oldest rounds.
std::string dropped_rounds_message(int64_t num_rounds);

}  // namespace predgen::cli

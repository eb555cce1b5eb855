#pragma once

#include <string>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

// HTML; empty where there is nothing to say.

/// Every figure of every method, and the same over turns that are not in the training data.
std::string methods_tables(const RunView& run);
/// Accuracy by category of the set.
std::string category_table(const RunView& run);
/// Failed turns, answers that could not be judged, turns that are in the training data, skipped
/// rows of sets.
std::string left_out(const Json& report);

/// Below a turn's timeline: what was heard and drafted, by method, kept parts marked. HTML.
std::string draft_tables(const RunView& run, int64_t turn);

}  // namespace predgen::evaluate

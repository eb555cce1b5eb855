#pragma once

#include <string>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// Below a turn's timeline: what was heard and drafted, by method, kept parts marked. HTML.
std::string draft_tables(const RunView& run, int64_t turn);

}  // namespace predgen::evaluate

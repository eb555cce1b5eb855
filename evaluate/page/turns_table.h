#pragma once

#include <string>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// A line for each turn: the prompt, times of a few methods, which texts differ from the
/// baseline's, and all texts, to be opened. Can be sorted by the page's script. HTML.
std::string turns_table(const RunView& run);

}  // namespace predgen::evaluate

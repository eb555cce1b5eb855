#pragma once

#include <string>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// A line for each turn: the prompt, times of a few methods, which texts differ from the
/// baseline's, and all texts, collapsed. The page's script can sort it. HTML.
std::string turns_table(const RunView& run);

}  // namespace predgen::evaluate

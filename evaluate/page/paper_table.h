#pragma once

#include <string>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// The run in the form of the paper's Table 1 (arXiv 2506.15556), beside what it published for the
/// same set or, if it has no such set, for Lmsys, and says which. HTML.
std::string paper_table(const RunView& run);

}  // namespace predgen::evaluate

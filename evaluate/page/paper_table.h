#pragma once

#include <string>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// The run in the form of the paper's Table 1 (arXiv 2506.15556), with its heading; on a set that
/// the paper has, beside what it published. HTML.
std::string paper_table(const RunView& run);

}  // namespace predgen::evaluate

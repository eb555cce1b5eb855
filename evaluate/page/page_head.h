#pragma once

#include <string>
#include <vector>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// "MT-Bench", or the set's kind and file.
std::string set_name(const Json& report);

/// Title, what ran on what, navigation, and what was left out. HTML.
std::string page_head(const Json& report, const std::vector<RunView>& runs);

/// The headline figures. HTML; empty if there are none.
std::string headline_tiles(const RunView& run);

/// A run's part of the page without its anchors, which are those of the first run.
std::string without_ids(std::string html);

}  // namespace predgen::evaluate

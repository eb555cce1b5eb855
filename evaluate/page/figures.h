#pragma once

#include <vector>

#include "evaluate/page/run_view.h"
#include "page/figure.h"

namespace predgen::evaluate {

// Pictures of a run, from its results alone. They borrow the run. A picture whose data
// the run lacks says so (Figure::missing).

/// Speed-up in audio latency over the baseline by method, with 95 % intervals.
Figure speed_up_figure(const RunView& run);
/// How many times fewer forward passes than the baseline each method needs to the first sentence.
Figure passes_figure(const RunView& run);
/// All methods: quality against audio latency.
Figure trade_off_figure(const RunView& run);
/// Quality and speed-up against k (the paper's Figure 4).
Figure top_k_quality_figure(const RunView& run);
Figure top_k_speed_figure(const RunView& run);

/// Where the time to the first sound goes.
Figure waterfall_figure(const RunView& run);
/// Drafted tokens that stayed, and those that did not.
Figure waste_figure(const RunView& run);
/// How many passes the turns took, by the turn's number in its conversation (Figure 3b).
Figure rounds_figure(const RunView& run);

/// TTFS by length of the user's turn, and by the share of words that a recogniser revised.
Figure length_figure(const RunView& run);
Figure revision_figure(const RunView& run);

/// A turn of Json "timelines" from the first word to the first sound.
Figure timeline_figure(const RunView& run, int64_t turn, const std::string& why);

/// Audio latency of all runs of a report, by model (Figure 3a) and price.
Figure runs_figure(const std::vector<RunView>& runs);

}  // namespace predgen::evaluate

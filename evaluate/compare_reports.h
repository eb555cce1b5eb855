#pragma once

#include <optional>
#include <string>

#include "core/json.h"

namespace predgen::evaluate {

/// How much worse one report may be than another; nullopt: any amount. Shares of 1.
struct ComparisonBounds {
  std::optional<double> max_slower{};       // mean time to the first sentence, relative
  std::optional<double> max_more_passes{};  // mean passes to the first sentence, relative
  std::optional<double> min_equal_text{};   // of the turns
};

/// Two results.json of the same set: for each run (paired in order) and each method that both have,
/// {"ttfs", "nfe_to_first_sentence", "audio_latency"} with both means and the paired difference,
/// and "equal_text"; "changed", the turns that changed most; "crossed", a line for each bound that
/// a method crosses. UserError if the sets differ, or no method is in both.
Json compare_reports(const Json& before, const Json& after, const ComparisonBounds& bounds);

/// For a terminal.
std::string format_comparison(const Json& comparison);

}  // namespace predgen::evaluate

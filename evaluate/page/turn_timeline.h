#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// A draft, from when the model saw the words until it reached its full length.
struct DraftSpan {
  double begin = 0, end = 0;  // seconds since the user began
  std::string heard{};        // the words by then
  std::string text{};
  size_t kept = 0;  // bytes of it that the next verification kept
};

/// What one method did in one turn.
struct TurnTimeline {
  std::string method;
  std::vector<std::pair<double, std::string>> heard{};  // transcripts, with the final one
  double last_word = 0;
  std::vector<DraftSpan> drafts{};
  std::optional<double> first_sentence{}, sound{};  // confirmed; the first sample can be heard
  std::optional<double> ready_ahead{};  // when its sound was ready, if before the last word
  std::string answer{};
};

/// The turn's timelines in results.json, with methods in their order; empty if it has none.
std::vector<TurnTimeline> read_timelines(const RunView& run, int64_t turn);

}  // namespace predgen::evaluate

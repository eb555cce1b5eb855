#pragma once

#include <functional>
#include <optional>
#include <string>

#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

/// The measure that stands for answer quality in a run; its name says how good it is.
struct QualityMeasure {
  std::string name;           // with the unit, for an axis
  std::string short_name;     // for the head of a column
  int digits = 1;             // after the point
  bool is_of_answers = true;  // otherwise a difference may be for better or worse
  /// With its 95 % interval; nullopt if the method has none.
  std::function<std::optional<Estimate>(const std::string& method)> of;
};

/// The best that the run has: a judge's grade, accuracy, the values that answers repeat, the share
/// of the baseline's texts that are unchanged. nullopt if it has none of these. Borrows the run.
std::optional<QualityMeasure> quality_measure(const RunView& run);

}  // namespace predgen::evaluate

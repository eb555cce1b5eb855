#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// A figure of a method in a run's table, on the terminal and on the page.
struct MethodColumn {
  std::string title;
  std::string (*cell)(const Json& method, const Json& comparison);
};

/// The columns with a value for any method of the run, or of its "unseen" turns.
std::vector<MethodColumn> method_columns(const Json& run);

/// "83.0 74-90": a share and its 95 % interval, in percent; "-" for null.
std::string share_cell(const Json& share);

/// The model of these figures, and the price.
std::string run_title(const Json& run);

/// How well spoken turns were heard, in a sentence; empty for a set that does not say.
std::string heard_line(const Json& report);

}  // namespace predgen::evaluate

#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::evaluate {

/// A table of texts, for a terminal and for the page. The first of a row is what the row is about.
struct TextTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows{};
};

/// Every figure of every method of a run, or of its "unseen" turns: columns in which any method has
/// a value. "-" is for those that have none.
TextTable method_table(const Json& run);

/// Right answers by category of the set, with the 95 % interval: "83.0 74-90". No row for a set
/// without categories.
TextTable category_table(const Json& run);

/// The model of these figures, and the cost.
std::string run_title(const Json& run);

/// How well spoken turns were heard, in a sentence; empty for a set that does not say.
std::string heard_line(const Json& report);

}  // namespace predgen::evaluate

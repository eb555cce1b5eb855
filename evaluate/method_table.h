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

/// The keys that group a run's turns: "source", "last_change", "length".
const std::vector<std::string>& group_names();

/// "Where it pays" for a terminal: the groups of each run by one of group_names(), a line for each
/// method, and what the columns mean. Says so if no turn is in a group.
std::string groups_text(const Json& report, const std::string& by);

/// The same of one run, for the page: "title", "columns" (each "title" and "meaning"), "groups"
/// (each "title" and "rows" of texts, of which the first is the method), and "missing": why there
/// are none, or "".
Json group_table(const Json& run, const std::string& by);

}  // namespace predgen::evaluate

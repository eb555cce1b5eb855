#pragma once

#include <string>
#include <vector>

namespace predgen {

/// A stacked bar of a chart.
struct StackedRow {
  std::string label;
  std::vector<double> parts{};  // one per StackedRows::parts; none: the label is a heading
  std::string text{};           // at the bar's end
};

struct StackedRows {
  std::vector<std::pair<std::string, std::string>> parts;  // classes of a colour, what it means
  std::vector<StackedRow> rows;
  std::string axis;          // what the values are, with the unit
  double whole = 0;          // where the axis ends; 0: at the longest bar
  std::string part_unit{};   // after a part's value
  bool shows_parts = false;  // shows a part's value if there is room
};

/// An <svg> element. Negative parts are ignored.
std::string draw_stacked_rows(const StackedRows& chart, double width, const std::string& label);

}  // namespace predgen

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace predgen {

/// A line of a chart: a dot at a value, with its interval.
struct DotRow {
  std::string label;
  std::string classes = "s0";           // of its colour
  std::optional<double> value{};        // nothing: the label is a heading
  std::optional<double> low{}, high{};  // both or none
  std::string text{};                   // at the mark
  std::string more{};                   // after it, where there is room
};

struct DotRows {
  std::vector<DotRow> rows;
  std::string axis;                   // what the values are, with the unit
  std::optional<double> reference{};  // a line there
  bool from_zero = true;
  std::vector<std::pair<std::string, std::string>> legend{};  // classes of a colour, what it means
};

/// An <svg> element.
std::string draw_dot_rows(const DotRows& chart, double width, const std::string& label);

}  // namespace predgen

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace predgen {

/// A row of a chart: a dot at a value, with its interval.
struct DotRow {
  std::string label;
  std::string classes = "s0";           // CSS classes of its colour
  std::optional<double> value{};        // none: the label is a heading
  std::optional<double> low{}, high{};  // both or none
  std::string text{};                   // next to the mark
  std::string more{};                   // after `text`, if there is room
};

struct DotRows {
  std::vector<DotRow> rows;
  std::string axis;                   // what the values are, with their unit
  std::optional<double> reference{};  // draws a line there
  bool from_zero = true;
  std::vector<std::pair<std::string, std::string>> legend{};  // classes of a colour, what it means
};

/// An <svg> element.
std::string draw_dot_rows(const DotRows& chart, double width, const std::string& label);

}  // namespace predgen

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace predgen {

struct PlotPoint {
  double x = 0, y = 0;
  std::optional<double> low{}, high{};      // of y, both or none
  std::optional<double> x_low{}, x_high{};  // of x, both or none
  std::string label{};                      // beside it; left out where it has no room
  std::string title{};                      // under the pointer
};

struct PlotLine {
  std::string classes = "s0";  // of its colour
  bool is_joined = true;       // by a line
  std::vector<PlotPoint> points{};
  std::string name{};  // at its last point
};

struct LinePlot {
  std::string x_axis, y_axis;  // what it is, with the unit
  std::vector<PlotLine> lines;
  /// Labels at x = 0, 1, .., and what stands below them; empty: x are numbers.
  std::vector<std::pair<std::string, std::string>> categories{};
  std::vector<double> x_ticks{};  // empty: round numbers
  bool x_from_zero = true, y_from_zero = true;
  std::vector<std::pair<std::string, std::string>> legend{};  // classes of a colour, what it means
};

/// An <svg> element.
std::string draw_line_plot(const LinePlot& plot, double width, const std::string& label);

}  // namespace predgen

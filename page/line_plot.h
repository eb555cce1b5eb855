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
  std::string label{};                      // next to it; omitted if there is no room
  std::string title{};                      // tooltip
};

struct PlotLine {
  std::string classes = "s0";  // of its colour
  bool is_joined = true;       // with a line
  bool has_dots = true;
  bool has_band = false;  // from low to high, set for all points; otherwise whiskers
  std::vector<PlotPoint> points{};
  std::string name{};  // at its last point
};

/// A triangle at the bottom.
struct PlotMark {
  double x = 0;
  std::string classes, title{};
};

struct LinePlot {
  std::string x_axis{}, y_axis{};  // what it is, with the unit
  std::vector<PlotLine> lines{};
  /// Labels at x = 0, 1, .., and what stands below them; empty: x are numbers.
  std::vector<std::pair<std::string, std::string>> categories{};
  std::vector<double> x_ticks{};  // empty: round numbers
  bool x_from_zero = true, y_from_zero = true;
  std::optional<double> x_end{};  // of the axis from 0; nothing: with room for the last point
  bool may_be_log = false;  // a logarithmic y if its values differ by more than a factor of 30
  std::vector<PlotMark> marks{};
  std::vector<std::pair<std::string, std::string>> legend{};  // classes of a colour, what it means
};

/// Where the values stand, in pixels from the left, in a picture so wide.
struct PlotEdges {
  double left, right;
};
PlotEdges plot_edges(const LinePlot& plot, double width);

/// An <svg> element. There is a point.
std::string draw_line_plot(const LinePlot& plot, double width, const std::string& label);

}  // namespace predgen

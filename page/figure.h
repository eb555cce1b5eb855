#pragma once

#include <functional>
#include <string>
#include <vector>

#include "page/svg_canvas.h"

namespace predgen {

/// A picture of a report, or why there is none.
struct Figure {
  std::string name;       // of its file, without the extension
  std::string title;      // with the unit
  std::string note{};     // how to read it, and what it omits; plain text
  bool is_wide = false;   // takes the page's full width
  std::string missing{};  // not empty: why there is no picture
  /// Returns the <svg>, `width` pixels wide; not called if `missing` is set.
  std::function<std::string(double width)> draw{};
};

/// A <figure> drawn twice, for wide and narrow screens, or a line that says why it is missing.
std::string figure_html(const Figure& figure);

/// Contents of FIGURE.svg.
std::string figure_file(const Figure& figure);

struct LegendEntry {
  std::string classes, label;
};
/// Draws the legend at the top, in as many lines as needed; returns the y below them.
double draw_legend(SvgCanvas& canvas, const std::vector<LegendEntry>& entries);

/// Width for labels on the left: the widest, but at most a good third of the picture.
double label_room(const std::vector<std::string>& labels, double width);

}  // namespace predgen

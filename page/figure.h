#pragma once

#include <functional>
#include <string>
#include <vector>

#include "page/svg_canvas.h"

namespace predgen {

/// A picture of a report, or why there is none.
struct Figure {
  std::string name;       // of its file, without the ending
  std::string title;      // with the unit
  std::string note{};     // how to read it, and what it leaves out; text
  bool is_wide = false;   // as wide as the page
  std::string missing{};  // not empty: why it is not there
  /// The <svg> so many pixels wide; with `missing` it is not called.
  std::function<std::string(double width)> draw{};
};

/// A <figure> that is there twice, for wide and for narrow screens, or a line that says why not.
std::string figure_html(const Figure& figure);

/// Contents of FIGURE.svg.
std::string figure_file(const Figure& figure);

struct LegendEntry {
  std::string classes, label;
};
/// In the picture's first lines, as many as it takes; returns the y below them.
double draw_legend(SvgCanvas& canvas, const std::vector<LegendEntry>& entries);

/// Of the texts that stand on the left: their widest, but no more than a good third of the picture.
double label_room(const std::vector<std::string>& labels, double width);

}  // namespace predgen

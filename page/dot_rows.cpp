#include "page/dot_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "page/axis.h"
#include "page/figure.h"

namespace predgen {
namespace {

constexpr double kDotRow = 23, kDotHeading = 26;

/// Lowest and highest value that must be visible.
std::pair<double, double> range_of(const DotRows& chart) {
  double low = chart.from_zero ? 0 : 1e300, high = chart.from_zero ? 1e-9 : -1e300;
  const auto see = [&](const std::optional<double>& value) {
    if (!value) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  };
  see(chart.reference);
  for (const DotRow& row : chart.rows) {
    for (const auto* value : {&row.value, &row.low, &row.high}) see(*value);
  }
  if (high <= low) high = low + 1;
  const double room = 0.03 * (high - low);
  return {chart.from_zero && low == 0 ? 0 : low - room, high + room};
}

double draw_axis(SvgCanvas& canvas, const Axis& x, double left, double right, double top,
                 double bottom, const DotRows& chart) {
  for (const double tick : x.ticks(right - left < 300 ? 4 : 8)) {
    canvas.line(x.place(tick), top, x.place(tick), bottom, "grid");
    canvas.text(x.place(tick), bottom + 15, tick_label(tick), "middle");
  }
  canvas.line(left, bottom, right, bottom, "axis");
  if (chart.reference) {
    canvas.line(x.place(*chart.reference), top - 3, x.place(*chart.reference), bottom, "zero");
  }
  const bool fits = text_width(chart.axis) < right - left;
  canvas.text(fits ? (left + right) / 2 : canvas.width() / 2, bottom + 33, chart.axis, "middle");
  return bottom + 40;
}

}  // namespace

std::string draw_dot_rows(const DotRows& chart, double width, const std::string& label) {
  SvgCanvas canvas(width);
  std::vector<std::string> labels;
  double text_room = 0, more_room = 0, height = 0;
  for (const DotRow& row : chart.rows) {
    height += row.value ? kDotRow : kDotHeading;
    if (!row.value) continue;
    labels.push_back(row.label);
    text_room = std::max(text_room, text_width(row.text));
    more_room = std::max(more_room, text_width(row.more));
  }
  const bool has_more = width > 450;  // else the marks need the room
  if (has_more) text_room += more_room + 6;
  std::vector<LegendEntry> legend;
  for (const auto& [classes, meaning] : chart.legend)
    legend.push_back({classes + " fill", meaning});
  const double top = (legend.empty() ? 4 : draw_legend(canvas, legend)) + 4;
  const double left = label_room(labels, width), right = width - text_room - 12,
               bottom = top + height;
  const auto [low, high] = range_of(chart);
  const Axis x(low, high, left, right);
  const double end = draw_axis(canvas, x, left, right, top, bottom, chart);
  double y = top;
  for (const DotRow& row : chart.rows) {
    if (!row.value) {
      canvas.text(0, y + 18, cut_to_width(row.label, width), "start", "strong halo");
      y += kDotHeading;
      continue;
    }
    const double middle = y + kDotRow / 2;
    canvas.text(left - 8, middle + 4, cut_to_width(row.label, left - 8), "end", "dark");
    if (row.low && row.high) {
      canvas.line(x.place(*row.low), middle, x.place(*row.high), middle, row.classes + " whisker");
    }
    canvas.dot(x.place(*row.value), middle, row.classes + " fill",
               row.label + ": " + row.text + " " + row.more);
    canvas.text(right + 8, middle + 4, row.text, "start", "dark");
    if (has_more && !row.more.empty()) {
      canvas.text(right + 8 + text_room - more_room, middle + 4, row.more);
    }
    y += kDotRow;
  }
  return canvas.finish(end, label);
}

}  // namespace predgen

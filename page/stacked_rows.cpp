#include "page/stacked_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "page/axis.h"
#include "page/figure.h"

namespace predgen {
namespace {

constexpr double kStackedRow = 25, kStackedHeading = 26, kBar = 17;

double length_of(const StackedRow& row) {
  double length = 0;
  for (const double part : row.parts) length += std::max(part, 0.0);
  return length;
}

void draw_bar(SvgCanvas& canvas, const StackedRows& chart, const StackedRow& row, const Axis& x,
              double y) {
  double sum = 0;
  for (size_t i = 0; i < row.parts.size(); ++i) {
    const double part = std::max(row.parts[i], 0.0);
    if (part == 0) continue;
    const double left = x.place(sum), right = x.place(sum + part);
    const std::string value = fmt::format("{:.0f}{}", part, chart.part_unit);
    // Leaves a thin gap between parts.
    canvas.rect(
        left, y, std::max(right - left - 1, 0.5), kBar, chart.parts[i].first,
        fmt::format("{}: {:.4g}{} {}", row.label, part, chart.part_unit, chart.parts[i].second));
    if (chart.shows_parts && right - left > text_width(value) + 4) {
      const bool is_full = chart.parts[i].first.ends_with("fill");
      canvas.text((left + right) / 2, y + 13, value, "middle", is_full ? "inverse" : "dark");
    }
    sum += part;
  }
}

}  // namespace

std::string draw_stacked_rows(const StackedRows& chart, double width, const std::string& label) {
  SvgCanvas canvas(width);
  std::vector<std::string> labels;
  double text_room = 0, height = 0, longest = 1e-9;
  for (const StackedRow& row : chart.rows) {
    height += row.parts.empty() ? kStackedHeading : kStackedRow;
    if (row.parts.empty()) continue;
    labels.push_back(row.label);
    text_room = std::max(text_room, text_width(row.text));
    longest = std::max(longest, length_of(row));
  }
  std::vector<LegendEntry> legend;
  for (const auto& [classes, meaning] : chart.parts) legend.push_back({classes, meaning});
  const double top = draw_legend(canvas, legend) + 4;
  const double left = label_room(labels, width), right = width - text_room - 12,
               bottom = top + height;
  const Axis x(0, chart.whole > 0 ? chart.whole : longest, left, right);
  for (const double tick : x.ticks(right - left < 300 ? 4 : 8)) {
    canvas.line(x.place(tick), top, x.place(tick), bottom, "grid");
    canvas.text(x.place(tick), bottom + 15, tick_label(tick), "middle");
  }
  canvas.line(left, top, left, bottom, "axis");
  const bool fits = text_width(chart.axis) < right - left;
  canvas.text(fits ? (left + right) / 2 : width / 2, bottom + 33, chart.axis, "middle");
  double y = top;
  for (const StackedRow& row : chart.rows) {
    if (row.parts.empty()) {
      canvas.text(0, y + 18, cut_to_width(row.label, width), "start", "strong halo");
      y += kStackedHeading;
      continue;
    }
    canvas.text(left - 8, y + kStackedRow / 2 + 4, cut_to_width(row.label, left - 8), "end",
                "dark");
    draw_bar(canvas, chart, row, x, y + (kStackedRow - kBar) / 2);
    const double end = chart.whole > 0 ? right : x.place(length_of(row));
    canvas.text(end + 7, y + kStackedRow / 2 + 4, row.text, "start", "dark");
    y += kStackedRow;
  }
  return canvas.finish(bottom + 40, label);
}

}  // namespace predgen

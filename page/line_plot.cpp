#include "page/line_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "page/axis.h"
#include "page/figure.h"
#include "page/label_places.h"

namespace predgen {
namespace {

constexpr double kPlot = 210;    // height
constexpr double kLogFrom = 30;  // highest to lowest value

struct Range {
  double low, high;
};

/// Widened so that marks are not at the edge.
Range padded(double low, double high, bool from_zero) {
  if (from_zero) low = std::min(low, 0.0);
  if (high <= low) high = low + std::max(1e-9, std::abs(low));
  const double room = 0.06 * (high - low);
  return {from_zero && low == 0 ? 0 : low - room, high + room};
}

/// The range of all points, from `low` and `high` of each.
template <typename Low, typename High>
Range extent(const LinePlot& plot, const Low& low_of, const High& high_of) {
  Range range{1e300, -1e300};
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      range.low = std::min(range.low, low_of(point));
      range.high = std::max(range.high, high_of(point));
    }
  }
  return range;
}

Range x_range(const LinePlot& plot) {
  if (plot.x_end) return {0, *plot.x_end};
  if (!plot.categories.empty()) return {-0.5, static_cast<double>(plot.categories.size()) - 0.5};
  const Range range = extent(
      plot, [](const PlotPoint& point) { return point.x_low.value_or(point.x); },
      [](const PlotPoint& point) { return point.x_high.value_or(point.x); });
  return padded(range.low, range.high, plot.x_from_zero);
}

Axis y_axis(const LinePlot& plot, double bottom, double top) {
  auto [low, high] = extent(
      plot, [](const PlotPoint& point) { return point.low.value_or(point.y); },
      [](const PlotPoint& point) { return point.high.value_or(point.y); });
  if (plot.may_be_log && low > 0 && high > kLogFrom * low) {
    return {std::pow(10.0, std::floor(std::log10(low))),
            std::pow(10.0, std::ceil(std::log10(high))), bottom, top, /*logarithmic=*/true};
  }
  const Range range = padded(low, high, plot.y_from_zero);
  return {range.low, range.high, bottom, top};
}

void draw_axes(SvgCanvas& canvas, const LinePlot& plot, const Axis& x, const Axis& y, double left,
               double right, double top, double bottom) {
  if (!plot.y_axis.empty()) canvas.text(0, top - 10, plot.y_axis);
  for (const double tick : y.ticks(6)) {
    canvas.line(left, y.place(tick), right, y.place(tick), "grid");
    canvas.text(left - 6, y.place(tick) + 4, tick_label(tick), "end");
  }
  canvas.line(left, bottom, right, bottom, "axis");
  const double room = plot.categories.empty()
                          ? right - left
                          : (right - left) / static_cast<double>(plot.categories.size());
  for (size_t i = 0; i < plot.categories.size(); ++i) {
    const auto& [name, more] = plot.categories[i];
    const double middle = x.place(static_cast<double>(i));
    canvas.text(middle, bottom + 16, cut_to_width(name, room), "middle", "dark");
    canvas.text(middle, bottom + 31, cut_to_width(more, room), "middle");
  }
  if (plot.categories.empty()) {
    const std::vector<double> ticks = plot.x_ticks.empty() ? x.ticks(6) : plot.x_ticks;
    for (const double tick : ticks) {
      canvas.line(x.place(tick), bottom, x.place(tick), bottom + 4, "axis");
      canvas.text(x.place(tick), bottom + 17, tick_label(tick), "middle");
    }
  }
  canvas.text((left + right) / 2, bottom + (plot.categories.empty() ? 35 : 49), plot.x_axis,
              "middle");
}

void draw_line(SvgCanvas& canvas, const PlotLine& line, const Axis& x, const Axis& y) {
  const auto go = [&](std::string& path, double to_x, double to_y) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.place(to_x), y.place(to_y));
  };
  std::string path, band;
  for (const PlotPoint& point : line.points) go(path, point.x, point.y);
  if (line.has_band) {
    for (const PlotPoint& point : line.points) go(band, point.x, *point.high);
    for (const PlotPoint& point : line.points | std::views::reverse) go(band, point.x, *point.low);
    canvas.path(band + "Z", line.classes + " band");
  }
  if (line.is_joined && line.points.size() > 1) canvas.path(path, line.classes + " line");
  for (const PlotPoint& point : line.points) {
    const double at_x = x.place(point.x), at_y = y.place(point.y);
    if (point.low && point.high && !line.has_band) {
      canvas.line(at_x, y.place(*point.low), at_x, y.place(*point.high),
                  line.classes + " whisker thin");
    }
    if (point.x_low && point.x_high) {
      canvas.line(x.place(*point.x_low), at_y, x.place(*point.x_high), at_y,
                  line.classes + " whisker thin");
    }
    if (line.has_dots) canvas.dot(at_x, at_y, line.classes + " fill", point.title);
  }
}

}  // namespace

PlotEdges plot_edges(const LinePlot& plot, double width) {
  double names = 0;
  for (const PlotLine& line : plot.lines) names = std::max(names, text_width(line.name));
  if (names > 0) names = std::min(names, 0.4 * width) + 10;
  return {46, width - 10 - names};
}

std::string draw_line_plot(const LinePlot& plot, double width, const std::string& label) {
  SvgCanvas canvas(width);
  std::vector<LegendEntry> legend;
  for (const auto& [classes, meaning] : plot.legend) legend.push_back({classes + " fill", meaning});
  const double top = (legend.empty() ? 0 : draw_legend(canvas, legend)) + 24;
  const auto [left, right] = plot_edges(plot, width);
  const double bottom = top + kPlot;
  const Range across = x_range(plot);
  const Axis x(across.low, across.high, left, right), y = y_axis(plot, bottom, top);
  draw_axes(canvas, plot, x, y, left, right, top, bottom);
  LabelPlaces places(left + 2, top - 8, width, bottom);
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      places.keep_free(x.place(point.x), y.place(point.y), 5);
    }
  }
  for (const PlotLine& line : plot.lines) draw_line(canvas, line, x, y);
  for (const PlotMark& mark : plot.marks) {
    canvas.path(fmt::format("M{:.1f} {:.1f}l-4.5 8h9z", x.place(mark.x), bottom - 8),
                mark.classes + " fill", mark.title);
  }
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      if (point.label.empty()) continue;
      places.draw(canvas, x.place(point.x), y.place(point.y), point.label,
                  line.is_joined ? LabelPlaces::Side::kAbove : LabelPlaces::Side::kRight);
    }
    if (line.name.empty() || line.points.empty()) continue;
    places.draw(canvas, x.place(line.points.back().x), y.place(line.points.back().y), line.name);
  }
  return canvas.finish(bottom + (plot.categories.empty() ? 42 : 56), label);
}

}  // namespace predgen

#include "train/report/chart_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/json.h"
#include "core/text.h"
#include "page/axis.h"

namespace predgen::train {
namespace {

constexpr double kWidth = 640, kHeight = 236;
constexpr double kLeft = 50, kRight = 626, kTop = 10, kBottom = 212;  // of the plot
constexpr size_t kMostPoints = 240;                                   // of a line
constexpr size_t kMostDots = 40;                                      // of a line that has dots
constexpr double kLogFrom = 30;                                       // highest to lowest value

Axis value_axis(const Chart& chart, const std::vector<ThinLine>& lines) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const ThinLine& line : lines) {
    for (const double value : line.lowest) low = std::min(low, value);
    for (const double value : line.highest) high = std::max(high, value);
  }
  if (chart.may_be_log && low > 0 && high > kLogFrom * low) {
    low = std::pow(10.0, std::floor(std::log10(low)));
    high = std::pow(10.0, std::ceil(std::log10(high)));
    return {low, high, kBottom, kTop, true};
  }
  if (chart.from_zero) low = std::min(low, 0.0);
  if (high <= low) high = low + std::max(std::abs(low), 1e-9);  // one value
  const double room = 0.04 * (high - low);
  return {low < 0 || (low > 0 && !chart.from_zero) ? low - room : low, high + room, kBottom, kTop};
}

std::string path_of(const ThinLine& line, const Axis& x, const Axis& y) {
  std::string path;
  for (size_t i = 0; i < line.steps.size(); ++i) {
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x.place(line.steps[i]),
                        y.place(line.means[i]));
  }
  return path;
}

/// Between the lowest and the highest values.
std::string band_of(const ThinLine& line, const Axis& x, const Axis& y) {
  std::string path;
  for (size_t i = 0; i < line.steps.size(); ++i) {
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x.place(line.steps[i]),
                        y.place(line.highest[i]));
  }
  for (size_t i = line.steps.size(); i-- > 0;) {
    path += fmt::format("L{:.1f} {:.1f}", x.place(line.steps[i]), y.place(line.lowest[i]));
  }
  return path + "Z";
}

std::string grid(const Axis& x, const Axis& y, int64_t last_step) {
  std::string svg;
  for (const double value : y.ticks()) {
    const double place = y.place(value);
    svg += fmt::format(
        "<path class=grid d='M{} {:.1f}H{}'/><text x={} y={:.1f} text-anchor=end>{}</text>\n",
        kLeft, place, kRight, kLeft - 7, place + 4, tick_label(value));
  }
  for (const double value : round_ticks(0, static_cast<double>(last_step),
                                        static_cast<int>(std::min<int64_t>(last_step, 7)))) {
    const double place = x.place(value);
    svg += fmt::format(
        "<path class=tick d='M{0:.1f} {1}v4'/><text x={0:.1f} y={2} "
        "text-anchor=middle>{3}</text>\n",
        place, kBottom, kBottom + 18, tick_label(value));
  }
  return svg + fmt::format("<path class=axis d='M{} {}H{}'/>\n", kLeft, kBottom, kRight);
}

std::string marks(const Chart& chart, const Axis& x) {
  std::string svg;
  for (const SkippedStep& skipped : chart.skipped) {
    svg += fmt::format(
        "<path class='{0}' d='M{1:.1f} {2}l-4.5 8h9z'><title>step {3} skipped: "
        "{4}</title></path>\n",
        skipped.outlier ? "outlier" : "infinite", x.place(static_cast<double>(skipped.step)),
        kBottom - 8, skipped.step, skipped.outlier ? "outlier" : "gradient not finite");
  }
  return svg;
}

std::string legend(const Chart& chart) {
  std::string html = "<div class=legend>";
  for (size_t i = 0; i < chart.lines.size(); ++i) {
    html += fmt::format("<span><i class='s{}'></i>{}</span>", i, escape_html(chart.lines[i].name));
  }
  const auto has = [&](bool outlier) {
    return std::ranges::any_of(chart.skipped,
                               [&](const SkippedStep& step) { return step.outlier == outlier; });
  };
  if (has(true)) html += "<span><b class=outlier>▲</b>skipped: outlier</span>";
  if (has(false)) html += "<span><b class=infinite>▲</b>skipped: not finite</span>";
  return html + "</div>";
}

/// For the script that shows values under the pointer.
std::string values_json(const Chart& chart, const std::vector<ThinLine>& lines, int64_t last_step) {
  Json json{{"left", kLeft}, {"right", kRight}, {"width", kWidth}, {"last", last_step}};
  Json& list = json["lines"] = Json::array();
  for (size_t i = 0; i < lines.size(); ++i) {
    Json points = Json::array();
    for (size_t k = 0; k < lines[i].steps.size(); ++k) {
      points.push_back({lines[i].steps[k], lines[i].means[k]});
    }
    list.push_back({{"name", chart.lines[i].name}, {"points", std::move(points)}});
  }
  std::string text = json.dump();
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");  // it must not end the script
  }
  return text;
}

}  // namespace

ThinLine thin(const Series& series, int64_t last_step, size_t most) {
  ThinLine line;
  const size_t size = series.steps.size();
  const double width = static_cast<double>(last_step + 1) / static_cast<double>(most);
  double bucket = -1.0, count = 0.0;
  for (size_t i = 0; i < size; ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value)) continue;
    const auto step = static_cast<double>(series.steps[i]);
    // Few enough: each value for itself.
    const double place = size <= most ? static_cast<double>(i) : std::floor(step / width);
    if (place != bucket) {
      bucket = place;
      count = 0.0;
      line.steps.push_back(0.0);
      line.means.push_back(0.0);
      line.lowest.push_back(value);
      line.highest.push_back(value);
    }
    ++count;
    line.steps.back() += (step - line.steps.back()) / count;
    line.means.back() += (value - line.means.back()) / count;
    line.lowest.back() = std::min(line.lowest.back(), value);
    line.highest.back() = std::max(line.highest.back(), value);
  }
  return line;
}

std::string chart_figure(const Chart& chart, int64_t last_step) {
  Chart drawn = chart;
  std::vector<ThinLine> lines;
  std::erase_if(drawn.lines, [&](const ChartLine& line) {
    ThinLine thinned = thin(line.series, last_step, kMostPoints);
    const bool empty = thinned.steps.empty();
    if (!empty) lines.push_back(std::move(thinned));
    return empty;
  });
  if (lines.empty() || last_step < 1) return "";
  const Axis x(0, static_cast<double>(last_step), kLeft, kRight), y = value_axis(drawn, lines);
  std::string svg = grid(x, y, last_step);
  for (size_t i = 0; i < lines.size(); ++i) {
    const ThinLine& line = lines[i];
    if (line.lowest != line.highest) {
      svg += fmt::format("<path class='band s{}' d='{}'/>\n", i, band_of(line, x, y));
    }
    svg += fmt::format("<path class='line s{}' d='{}'/>\n", i, path_of(line, x, y));
    if (line.steps.size() > kMostDots) continue;
    for (size_t k = 0; k < line.steps.size(); ++k) {
      svg += fmt::format("<circle class='s{}' cx={:.1f} cy={:.1f} r=2.6 />\n", i,
                         x.place(line.steps[k]), y.place(line.means[k]));
    }
  }
  svg += marks(drawn, x);
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>{1}\n"
      "<div class=plot><svg viewBox='0 0 {2} {3}' role=img aria-label='{0}'>\n{4}"
      "<text x={5} y={6} text-anchor=end>step</text>"
      "<path class=cursor d='M0 {7}V{8}'/></svg><output></output></div>\n"
      "<script type=application/json>{9}</script></figure>\n",
      escape_html(drawn.title), legend(drawn), kWidth, kHeight, svg, kLeft - 7, kBottom + 18, kTop,
      kBottom, values_json(drawn, lines, last_step));
}

}  // namespace predgen::train

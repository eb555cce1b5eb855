#include "train/report/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/json.h"
#include "core/text.h"
#include "page/axis.h"
#include "page/line_plot.h"

namespace predgen::train {
namespace {

/// What is logged for a step besides losses.
constexpr std::array kNoLosses{"learning_rate", "gradient_norm", "tokens_per_second",
                               "epoch",         "skipped_steps", "outlier_steps",
                               "seconds"};
constexpr double kWidth = 640;
constexpr size_t kMostPoints = 240;  // of a line
constexpr size_t kMostDots = 40;     // of a line that has dots

struct ChartLine {
  std::string name;
  Series series;
};

struct Chart {
  std::string title;  // with the unit
  std::vector<ChartLine> lines{};
  bool from_zero = false;   // the axis of values begins at 0
  bool may_be_log = false;  // it is a logarithmic one if the values differ much
  bool has_skipped = false;
};

/// `scale`: 100 for shares that are shown in percent.
ChartLine line_of(const RunHistory& history, const std::string& name, const std::string& tag,
                  double scale = 1.0) {
  const auto found = history.scalars.find(tag);
  ChartLine line{name, found == history.scalars.end() ? Series{} : found->second};
  for (double& value : line.series.values) value *= scale;
  return line;
}

PlotLine plot_line(const ThinLine& thinned, size_t index) {
  PlotLine line{.classes = fmt::format("s{}", index),
                .has_dots = thinned.steps.size() <= kMostDots,
                .has_band = thinned.lowest != thinned.highest};
  for (size_t i = 0; i < thinned.steps.size(); ++i) {
    PlotPoint& point =
        line.points.emplace_back(PlotPoint{.x = thinned.steps[i], .y = thinned.means[i]});
    if (!line.has_band) continue;
    point.low = thinned.lowest[i];
    point.high = thinned.highest[i];
  }
  return line;
}

/// For the script that shows values under the pointer.
std::string values_json(const LinePlot& plot, int64_t last_step) {
  const auto [left, right] = plot_edges(plot, kWidth);
  Json json{{"left", left}, {"right", right}, {"width", kWidth}, {"last", last_step}};
  Json& lines = json["lines"] = Json::array();
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    Json points = Json::array();
    for (const PlotPoint& point : plot.lines[i].points) points.push_back({point.x, point.y});
    lines.push_back({{"name", plot.legend[i].second}, {"points", std::move(points)}});
  }
  std::string text = json.dump();
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");  // must not close the script
  }
  return text;
}

void mark_skipped(const std::vector<SkippedStep>& skipped, LinePlot& plot) {
  for (const bool outlier : {true, false}) {
    const char* classes = outlier ? "outlier" : "infinite";
    for (const SkippedStep& step : skipped) {
      if (step.outlier != outlier) continue;
      plot.marks.push_back({.x = static_cast<double>(step.step),
                            .classes = classes,
                            .title = fmt::format("step {} skipped: {}", step.step,
                                                 outlier ? "outlier" : "gradient not finite")});
    }
    if (std::ranges::find(plot.marks, classes, &PlotMark::classes) != plot.marks.end()) {
      plot.legend.emplace_back(classes, outlier ? "skipped: outlier" : "skipped: not finite");
    }
  }
}

/// Empty if there is no value. The steps go from 0 to the last one.
std::string figure_of(const Chart& chart, const RunHistory& history) {
  if (history.last_step < 1) return "";
  const auto last_step = static_cast<double>(history.last_step);
  LinePlot plot{.x_axis = "step",
                .x_ticks = round_ticks(0, last_step, static_cast<int>(std::min(last_step, 7.0))),
                .y_from_zero = chart.from_zero,
                .x_end = last_step,
                .may_be_log = chart.may_be_log};
  for (const ChartLine& line : chart.lines) {
    const ThinLine thinned = thin(line.series, history.last_step, kMostPoints);
    if (thinned.steps.empty()) continue;
    plot.lines.push_back(plot_line(thinned, plot.lines.size()));
    plot.legend.emplace_back(plot.lines.back().classes, line.name);
  }
  if (plot.lines.empty()) return "";
  if (chart.has_skipped) mark_skipped(history.skipped, plot);
  return fmt::format(
      "<figure><figcaption>{}</figcaption>\n<div class=plot>{}<output></output></div>\n"
      "<script type=application/json>{}</script></figure>\n",
      escape_html(chart.title), draw_line_plot(plot, kWidth, chart.title),
      values_json(plot, history.last_step));
}

}  // namespace

std::vector<std::string> loss_names(const RunHistory& history) {
  std::vector<std::string> names = history.names("train/");
  std::erase_if(names, [](const std::string& name) {
    return std::ranges::find(kNoLosses, name) != kNoLosses.end();
  });
  return names;
}

ThinLine thin(const Series& series, int64_t last_step, size_t most) {
  ThinLine line;
  const size_t size = series.steps.size();
  const double width = static_cast<double>(last_step + 1) / static_cast<double>(most);
  double bucket = -1.0, count = 0.0;
  for (size_t i = 0; i < size; ++i) {
    const double value = series.values[i];
    if (!std::isfinite(value)) continue;
    const auto step = static_cast<double>(series.steps[i]);
    // Few enough: each value on its own.
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

std::string run_charts(const RunHistory& history) {
  Chart losses{.title = "Loss, nats per token", .has_skipped = true};
  for (const std::string& name : loss_names(history)) {
    losses.lines.push_back(line_of(history, name, "train/" + name));
  }
  for (const std::string& name : history.names("held_out/")) {
    losses.lines.push_back(line_of(history, name + ", held out", "held_out/" + name));
  }
  const auto line = [&](const char* name, const char* tag, double scale = 1.0) {
    return line_of(history, name, tag, scale);
  };
  const std::vector<Chart> all{
      losses,
      {.title = "Gradient norm, before clipping",
       .lines = {line("gradient norm", "train/gradient_norm")},
       .may_be_log = true,
       .has_skipped = true},
      {.title = "Learning rate",
       .lines = {line("learning rate", "train/learning_rate")},
       .from_zero = true},
      {.title = "Speed, tokens per second",
       .lines = {line("all ranks", "train/tokens_per_second")},
       .from_zero = true},
      {.title = "Most memory of a rank so far, GiB",
       .lines = {line("process", "memory/process_gib"), line("GPU", "memory/gpu_gib")},
       .from_zero = true},
      {.title = "Watch: tokens per forward pass",
       .lines = {line("Jacobi decoding", "watch/tokens_per_pass")},
       .from_zero = true},
      {.title = "Watch: answers, %",
       .lines = {line("repeat themselves", "watch/repetition", 100),
                 line("text as at the start", "watch/start_agreement", 100),
                 line("Jacobi text as greedy text", "watch/jacobi_agreement", 100)},
       .from_zero = true},
      {.title = "Watch: tokens per answer",
       .lines = {line("greedy decoding", "watch/answer_tokens")},
       .from_zero = true},
  };
  std::string html = "<div class=charts>\n";
  for (const Chart& chart : all) html += figure_of(chart, history);
  return html + "</div>\n";
}

}  // namespace predgen::train

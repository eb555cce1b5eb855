#include <fmt/format.h>

#include <algorithm>

#include "evaluate/page/figures.h"
#include "evaluate/page/quality_measure.h"
#include "page/dot_rows.h"
#include "page/line_plot.h"

namespace predgen::evaluate {
namespace {

constexpr const char* kSameTexts = "all texts are the baseline's";
constexpr const char* kOtherTexts = "some texts differ";

std::string colour_by_texts(const RunView& run, const std::string& method) {
  if (run.is_baseline(method)) return "base";
  return run.keeps_texts(method).value_or(false) ? "s0" : "s1";
}

/// The colours that occur.
std::vector<std::pair<std::string, std::string>> legend_by_texts(const RunView& run) {
  const auto has = [&](const char* colour) {
    return std::ranges::any_of(run.methods(), [&](const std::string& method) {
      return colour_by_texts(run, method) == colour;
    });
  };
  std::vector<std::pair<std::string, std::string>> legend;
  if (has("s0")) legend.emplace_back("s0", kSameTexts);
  if (has("s1")) legend.emplace_back("s1", kOtherTexts);
  return legend;
}

/// What a method saves, for a row of a chart.
DotRow saving_row(const RunView& run, const std::string& method, const Estimate& saved, int digits,
                  const char* unit) {
  return {.label = method,
          .classes = colour_by_texts(run, method),
          .value = saved.value,
          .low = saved.low,
          .high = saved.high,
          .text = fixed(saved.value, digits) + unit,
          .more = fixed(saved.low, digits) + "–" + fixed(saved.high, digits)};
}

Figure saving_figure(Figure figure, DotRows chart) {
  if (chart.rows.empty()) {
    figure.missing = "is not here: no method was compared with a baseline in this run.";
    return figure;
  }
  std::ranges::stable_sort(chart.rows,
                           [](const DotRow& a, const DotRow& b) { return *a.value > *b.value; });
  figure.draw = [chart, title = figure.title](double width) {
    return draw_dot_rows(chart, width, title);
  };
  return figure;
}

/// In ms.
std::optional<Estimate> latency_of(const RunView& run, const std::string& method) {
  std::optional<Estimate> latency = mean_of(run.values(method, "audio_latency"));
  if (!latency) return std::nullopt;
  for (double* seconds : {&latency->value, &latency->low, &latency->high}) *seconds *= 1e3;
  return latency;
}

struct KMethod {
  double k;
  std::string method;
};

/// Methods that are top-k alone, and greedy, which is k = 1.
std::vector<KMethod> top_k_methods(const RunView& run) {
  std::vector<KMethod> found;
  for (const std::string& method : run.methods()) {
    const auto k = number_at(run.method(method), {"top_k"});
    if (method == "greedy") found.push_back({1, method});
    if (k && method == fmt::format("top{:.0f}", *k)) found.push_back({*k, method});
  }
  std::ranges::stable_sort(found, {}, &KMethod::k);
  return found;
}

Figure top_k_figure(Figure figure, const RunView& run, const std::string& y_axis, bool from_zero,
                    const std::function<std::optional<Estimate>(const std::string&)>& value_of,
                    int digits) {
  LinePlot plot{.x_axis = "k of top-k verification (1: greedy)",
                .y_axis = y_axis,
                .lines = {{.points = {}}},
                .x_from_zero = false,
                .y_from_zero = from_zero};
  for (const KMethod& one : top_k_methods(run)) {
    const auto value = value_of(one.method);
    if (!value) continue;
    plot.x_ticks.push_back(one.k);
    plot.lines[0].points.push_back(
        {.x = one.k,
         .y = value->value,
         .low = value->low,
         .high = value->high,
         .label = fixed(value->value, digits),
         .title = fmt::format("k = {:.0f}: {:.4g}", one.k, value->value)});
  }
  if (plot.lines[0].points.size() < 2) {
    figure.missing = "(Figure 4) is not here: it takes two values of k, as [greedy, top3, top5].";
    return figure;
  }
  figure.draw = [plot, title = figure.title](double width) {
    return draw_line_plot(plot, width, title);
  };
  return figure;
}

}  // namespace

Figure speed_up_figure(const RunView& run) {
  DotRows chart{.rows = {},
                .axis = "ms sooner than the baseline",
                .reference = 0,
                .legend = legend_by_texts(run)};
  for (const std::string& method : run.methods()) {
    const auto sooner = run.ms_sooner(method);
    if (sooner) chart.rows.push_back(saving_row(run, method, *sooner, 0, " ms"));
  }
  return saving_figure({.name = "speed_up",
                        .title = "How much sooner the first sound comes, with 95 % intervals",
                        .note = "Mean over the turns. Intervals by 2,000 bootstrap resamples."},
                       chart);
}

Figure passes_figure(const RunView& run) {
  DotRows chart{.rows = {},
                .axis = "times fewer than the baseline",
                .reference = 1,
                .legend = legend_by_texts(run)};
  for (const std::string& method : run.methods()) {
    const Json& found = at_path(run.comparison(method), {"nfe_saving_paper"});
    const auto ratio = number_at(found, {"ratio"}), low = number_at(found, {"low"}),
               high = number_at(found, {"high"});
    if (!ratio || !low || !high) continue;
    chart.rows.push_back(
        saving_row(run, method, {.value = *ratio, .low = *low, .high = *high}, 2, "×"));
  }
  return saving_figure({.name = "passes",
                        .title = "Fewer forward passes to the first sentence (NFE)",
                        .note = "After the last word, at least one pass a turn, as the paper "
                                "counts; passes of a draft model by their price."},
                       chart);
}

Figure trade_off_figure(const RunView& run) {
  Figure figure{.name = "trade_off", .title = "Speed against quality, all methods"};
  const auto measure = quality_measure(run);
  if (!measure) {
    figure.missing =
        "is not here: the run has no measure of quality (a judge, right answers, reference "
        "answers or a baseline).";
    return figure;
  }
  LinePlot plot{.x_axis = "mean audio latency, ms",
                .y_axis = measure->name,
                .lines = {},
                .y_from_zero = false,
                .legend = legend_by_texts(run)};
  for (const std::string& method : run.methods()) {
    const auto latency = latency_of(run, method);
    const auto quality = measure->of(method);
    if (!latency || !quality) continue;
    plot.lines.push_back({.classes = colour_by_texts(run, method),
                          .is_joined = false,
                          .points = {{.x = latency->value,
                                      .y = quality->value,
                                      .low = quality->low,
                                      .high = quality->high,
                                      .label = method,
                                      .title = fmt::format("{}: {:.0f} ms, {:.2f}", method,
                                                           latency->value, quality->value)}}});
  }
  if (plot.lines.size() < 2) {
    figure.missing = "is not here: it takes two methods with a latency and a measure of quality.";
    return figure;
  }
  figure.note = "Better is further left and further up. Bars are 95 % intervals of the quality.";
  figure.draw = [plot, title = figure.title](double width) {
    return draw_line_plot(plot, width, title);
  };
  return figure;
}

Figure top_k_quality_figure(const RunView& run) {
  Figure figure{.name = "top_k_quality", .title = "Quality against k"};
  const auto measure = quality_measure(run);
  if (!measure) {
    figure.missing = "(Figure 4) is not here: the run has no measure of quality.";
    return figure;
  }
  figure.note = "The paper's Figure 4. Bars are 95 % intervals.";
  return top_k_figure(figure, run, measure->name, false, measure->of, measure->digits);
}

Figure top_k_speed_figure(const RunView& run) {
  return top_k_figure(
      {.name = "top_k_speed",
       .title = "Audio latency against k",
       .note = "The paper's Figure 4. Bars are 95 % intervals."},
      run, "mean audio latency, ms", true,
      [&](const std::string& method) { return latency_of(run, method); }, 0);
}

}  // namespace predgen::evaluate

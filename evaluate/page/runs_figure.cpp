#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "evaluate/page/figures.h"
#include "page/dot_rows.h"

namespace predgen::evaluate {

Figure runs_figure(const std::vector<RunView>& runs) {
  std::set<std::string> models, prices;
  for (const RunView& run : runs) {
    models.insert(text_at(run.run(), {"model"}));
    prices.insert(run.price());
  }
  const bool by_model = models.size() > 1, by_price = prices.size() > 1;
  Figure figure{.name = "models",
                .title = by_model ? "Audio latency by model" : "Audio latency by price of a pass"};
  if (runs.size() < 2) {
    figure.title = "Audio latency by model";
    figure.missing = "(Figure 3a) is not here: one model ran; models: [FOLDER, ..] takes several.";
    return figure;
  }
  DotRows chart{.rows = {}, .axis = "mean audio latency, ms"};
  for (const RunView& run : runs) {
    std::string name = by_model ? run.model() : run.price();
    if (by_model && by_price) name += ", " + run.price();
    chart.rows.push_back({.label = name});
    std::optional<double> baseline;
    for (const std::string& method : run.shown()) {
      const auto latency = mean_of(run.values(method, "audio_latency"));
      if (!latency) continue;
      if (run.is_baseline(method)) baseline = latency->value;
      const bool is_other = baseline && !run.is_baseline(method) && latency->value > 0;
      chart.rows.push_back({.label = method,
                            .classes = run.colour(method),
                            .value = 1e3 * latency->value,
                            .low = 1e3 * latency->low,
                            .high = 1e3 * latency->high,
                            .text = fmt::format("{:.0f} ms", 1e3 * latency->value),
                            .more = is_other ? times(*baseline / latency->value, 2) : ""});
    }
  }
  figure.note = by_model ? "The paper's Figure 3a. Bars are 95 % intervals."
                         : "What a pass is taken to cost; each is a run of its own.";
  figure.draw = [chart, title = figure.title](double width) {
    return draw_dot_rows(chart, width, title);
  };
  return figure;
}

}  // namespace predgen::evaluate

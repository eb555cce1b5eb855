#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "evaluate/page/figures.h"
#include "page/line_plot.h"

namespace predgen::evaluate {
namespace {

constexpr size_t kMostShown = 4;

/// Turns with `low` <= value < `high`.
struct Group {
  double low, high;
  std::string name;
};

double num_words(const Json& row) {
  std::istringstream stream(text_at(row, {"prompt"}));
  double count = 0;
  for (std::string word; stream >> word;) ++count;
  return count;
}

/// TTFS of a few methods by group; groups without turns are left out.
LinePlot plot_groups(const RunView& run, const std::vector<Group>& groups, const std::string& axis,
                     const std::function<std::optional<double>(const Json& row)>& value_of) {
  LinePlot plot{.x_axis = axis, .y_axis = "mean TTFS, ms", .lines = {}};
  std::vector<Group> filled;
  for (const Group& group : groups) {
    int64_t count = 0;
    for (const Json* row : run.rows(run.methods().front())) {
      const auto value = value_of(*row);
      count += value && *value >= group.low && *value < group.high;
    }
    if (count == 0) continue;
    filled.push_back(group);
    plot.categories.emplace_back(group.name, fmt::format("n = {}", count));
  }
  const std::vector<std::string> shown = run.shown(kMostShown);
  const size_t num_lines = shown.size();
  for (size_t m = 0; m < num_lines; ++m) {
    const std::string& method = shown[m];
    PlotLine line{.classes = run.colour(method), .points = {}, .name = method};
    for (size_t g = 0; g < filled.size(); ++g) {
      std::vector<std::optional<double>> values;
      for (const Json* row : run.rows(method)) {
        const auto value = value_of(*row);
        if (!value || *value < filled[g].low || *value >= filled[g].high) continue;
        values.push_back(number_at(*row, {"ttfs"}));
      }
      const auto mean = mean_of(values);
      if (!mean) continue;
      // Side by side, so that intervals do not overlap.
      const double aside =
          0.07 * (static_cast<double>(m) - (static_cast<double>(num_lines) - 1) / 2);
      line.points.push_back(
          {.x = static_cast<double>(g) + aside,
           .y = 1e3 * mean->value,
           .low = 1e3 * mean->low,
           .high = 1e3 * mean->high,
           .title = fmt::format("{}: {:.0f} ms ({:.0f}–{:.0f})", method, 1e3 * mean->value,
                                1e3 * mean->low, 1e3 * mean->high)});
    }
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

Figure with_plot(Figure figure, const LinePlot& plot) {
  figure.note = "Means with 95 % intervals, a few of the methods.";
  figure.draw = [plot, title = figure.title](double width) {
    return draw_line_plot(plot, width, title);
  };
  return figure;
}

std::string words_name(double low, double high) {
  if (low == high) return fmt::format("{:.0f}", low);
  return fmt::format("{:.0f}–{:.0f}", low, high);
}

}  // namespace

Figure length_figure(const RunView& run) {
  Figure figure{.name = "input_length",
                .title = "Time to the first sentence by length of the input"};
  std::vector<double> words;
  if (!run.methods().empty()) {
    for (const Json* row : run.rows(run.methods().front())) words.push_back(num_words(*row));
  }
  std::ranges::sort(words);
  constexpr size_t kGroups = 4, kFewestTurns = 8;
  if (words.size() < kFewestTurns || words.front() == words.back()) {
    figure.missing = "is not here: it takes eight turns of different lengths.";
    return figure;
  }
  std::vector<Group> groups;  // of about as many turns each
  for (size_t begin = 0; begin < words.size();) {
    size_t end = std::min((groups.size() + 1) * words.size() / kGroups, words.size());
    end = std::max(end, begin + 1);
    while (end < words.size() && words[end] == words[end - 1]) ++end;
    groups.push_back(
        {words[begin], words[end - 1] + 0.5, words_name(words[begin], words[end - 1])});
    begin = end;
  }
  return with_plot(figure, plot_groups(run, groups, "words of the user's turn", num_words));
}

Figure revision_figure(const RunView& run) {
  Figure figure{.name = "revised_words",
                .title = "Time to the first sentence by share of words that were taken back"};
  const auto revised = [](const Json& row) { return number_at(row, {"revised_share"}); };
  bool is_recorded = false;
  for (const std::string& method : run.methods()) {
    for (const Json* row : run.rows(method)) is_recorded |= revised(*row).has_value();
  }
  if (!is_recorded) {
    figure.missing =
        "is not here: these turns are typed, and nobody took a word back; recorded transcripts "
        "(configs/eval/asr.yaml) have it.";
    return figure;
  }
  const std::vector<Group> groups{{0, 1e-9, "none"},
                                  {1e-9, 0.1, "to 10 %"},
                                  {0.1, 0.2, "10–20 %"},
                                  {0.2, 0.4, "20–40 %"},
                                  {0.4, 2, "more"}};
  return with_plot(figure,
                   plot_groups(run, groups, "words that a later transcript took back", revised));
}

}  // namespace predgen::evaluate

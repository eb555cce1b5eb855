#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "evaluate/page/figures.h"
#include "page/stacked_rows.h"

namespace predgen::evaluate {
namespace {

/// Means over the rows that have all four times, in ms; nullopt: none has.
std::optional<std::array<double, 4>> mean_parts(const RunView& run, const std::string& method) {
  std::array<double, 4> sums{};
  double n = 0;
  for (const Json* row : run.rows(method)) {
    const auto ttfs = number_at(*row, {"ttfs"}), paper = number_at(*row, {"ttfs_paper"}),
               ttft = number_at(*row, {"ttft"}), sound = number_at(*row, {"audio_latency"});
    if (!ttfs || !paper || !ttft || !sound) continue;
    const double waiting = *ttfs - *paper;
    sums[0] += waiting;
    sums[1] += *ttft - waiting;
    sums[2] += *ttfs - *ttft;
    sums[3] += *sound - *ttfs;
    ++n;
  }
  if (n == 0) return std::nullopt;
  for (double& sum : sums) sum *= 1e3 / n;
  return sums;
}

/// How many passes a turn took: the last bin is open.
struct Bin {
  double most;
  const char *name, *classes;
};
constexpr std::array kBins{Bin{1, "1 pass", "s2 fill"}, Bin{4, "2–4", "s0 fill"},
                           Bin{16, "5–16", "s0 half"}, Bin{1e300, "over 16", "base pale"}};

constexpr int64_t kMostRounds = 4;  // later ones are merged
constexpr size_t kMostMethods = 5;

/// Where there is little room bars end with the first part of their text.
void draw_rows(Figure& figure, const StackedRows& chart) {
  figure.draw = [chart, title = figure.title](double width) {
    StackedRows fitted = chart;
    if (width < 450) {
      for (StackedRow& row : fitted.rows) row.text = row.text.substr(0, row.text.find(','));
    }
    return draw_stacked_rows(fitted, width, title);
  };
}

}  // namespace

Figure waterfall_figure(const RunView& run) {
  Figure figure{.name = "waterfall", .title = "Where the time to the first sound goes"};
  StackedRows chart{.parts = {{"base fill", "a pass still running"},
                              {"s0 fill", "first pass: reads the prompt, verifies the draft"},
                              {"s0 half", "rest of the first sentence"},
                              {"s4 fill", "speech to its first sample"}},
                    .rows = {},
                    .axis = "mean ms after the last word",
                    .shows_parts = true};
  for (const std::string& method : run.methods()) {
    const auto parts = mean_parts(run, method);
    if (!parts) continue;
    double total = 0;
    for (const double part : *parts) total += std::max(part, 0.0);
    chart.rows.push_back({method, {parts->begin(), parts->end()}, fmt::format("{:.0f} ms", total)});
  }
  if (chart.rows.empty()) {
    figure.missing = "is not here: no turn has the times that it is made of.";
    return figure;
  }
  figure.note =
      "A first sentence that was kept whole with its sound ready costs the first pass alone.";
  draw_rows(figure, chart);
  return figure;
}

Figure waste_figure(const RunView& run) {
  Figure figure{.name = "waste", .title = "Drafted tokens a turn, and what became of them"};
  StackedRows chart{.parts = {{"s2 fill", "in the answer"}, {"s1 pale", "wasted"}},
                    .rows = {},
                    .axis = "tokens a turn, mean",
                    .shows_parts = true};
  for (const std::string& method : run.methods()) {
    const auto drafted = number_at(run.method(method), {"spec_tokens_drafted", "mean"}),
               kept = number_at(run.method(method), {"spec_tokens_accepted", "mean"}),
               ahead = number_at(run.method(method), {"speculative_nfe", "mean"});
    if (!drafted || !kept || *drafted <= 0) continue;
    chart.rows.push_back({method,
                          {*kept, *drafted - *kept},
                          fmt::format("{:.0f} % wasted, {:.0f} passes ahead",
                                      100 * (*drafted - *kept) / *drafted, ahead.value_or(0))});
  }
  if (chart.rows.empty()) {
    figure.missing = "is not here: no method of this run drafts anything.";
    return figure;
  }
  figure.note =
      "What speculation costs: computed while the user speaks, and thrown away where the words "
      "took another turn.";
  draw_rows(figure, chart);
  return figure;
}

Figure rounds_figure(const RunView& run) {
  Figure figure{.name = "rounds",
                .title = "Forward passes to the first sentence, by the user's turn, % of turns"};
  std::set<int64_t> rounds;
  const std::vector<std::string> shown = run.shown(kMostMethods);
  for (const std::string& method : shown) {
    for (const Json* row : run.rows(method)) {
      if (const auto round = number_at(*row, {"round"})) {
        rounds.insert(std::min(static_cast<int64_t>(*round), kMostRounds));
      }
    }
  }
  if (rounds.size() < 2) {
    figure.missing =
        "(Figure 3b) is not here: all turns of this set are as early in their conversations; "
        "MT-Bench and dialogues have later ones.";
    return figure;
  }
  StackedRows chart{.parts = {},
                    .rows = {},
                    .axis = "% of turns",
                    .whole = 100,
                    .part_unit = " %",
                    .shows_parts = true};
  for (const Bin& bin : kBins) chart.parts.emplace_back(bin.classes, bin.name);
  for (const int64_t round : rounds) {
    chart.rows.push_back({fmt::format("Turn {}{} of the conversation", round,
                                      round == kMostRounds ? " and later" : ""),
                          {},
                          ""});
    for (const std::string& method : shown) {
      std::vector<double> shares(kBins.size(), 0);
      double n = 0, sum = 0;
      for (const Json* row : run.rows(method)) {
        const auto nfe = number_at(*row, {"nfe_paper"});
        const auto of = number_at(*row, {"round"});
        if (!nfe || !of || std::min(static_cast<int64_t>(*of), kMostRounds) != round) continue;
        const auto* bin =
            std::ranges::find_if(kBins, [&](const Bin& one) { return *nfe <= one.most; });
        shares[static_cast<size_t>(bin - kBins.begin())] += 1;
        sum += *nfe;
        ++n;
      }
      if (n == 0) continue;
      for (double& share : shares) share *= 100 / n;
      chart.rows.push_back({method, shares, fmt::format("mean {:.1f}, n = {:.0f}", sum / n, n)});
    }
  }
  figure.note =
      "The paper's Figure 3b. One pass: the draft's first sentence was kept whole, and can be "
      "heard at once.";
  if (shown.size() < run.methods().size()) figure.note += " A few of the methods.";
  draw_rows(figure, chart);
  return figure;
}

}  // namespace predgen::evaluate

#include "evaluate/compare_reports.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/error.h"
#include "evaluate/statistics.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {
namespace {

constexpr uint64_t kSeed = 0;
constexpr size_t kChangedShown = 10;

struct ComparedMetric {
  const char *name, *title;
  double scale;
};
constexpr ComparedMetric kMetrics[] = {{"ttfs", "time to first sentence, ms", 1e3},
                                       {"nfe_to_first_sentence", "passes to first sentence", 1},
                                       {"audio_latency", "time to first sound, ms", 1e3}};

/// Rows of one run by method and turn.
using RowsOfRun = std::map<std::string, std::map<int64_t, const Json*>>;

RowsOfRun rows_of_run(const Json& report, const Json& run) {
  RowsOfRun rows;
  for (const Json& row : report.at("turns")) {
    if (row.at("model") != run.at("model") || row.at("cost") != run.at("cost").at("name")) continue;
    rows[row.at("method")][row.at("turn")] = &row;
  }
  return rows;
}

/// Rows of turns that both have.
struct PairedRows {
  Rows before, after;
};

PairedRows pair_rows(const std::map<int64_t, const Json*>& before,
                     const std::map<int64_t, const Json*>& after) {
  PairedRows pairs;
  for (const auto& [turn, row] : before) {
    const auto other = after.find(turn);
    if (other == after.end()) continue;
    if (row->at("id") != other->second->at("id") ||
        row->at("prompt") != other->second->at("prompt")) {
      throw UserError("the sets differ: turn {} is {} in one and {} in the other", turn,
                      row->at("id").dump(), other->second->at("id").dump());
    }
    pairs.before.push_back(row);
    pairs.after.push_back(other->second);
  }
  return pairs;
}

double equal_share(const PairedRows& pairs) {
  double equal = 0;
  for (size_t i = 0; i < pairs.before.size(); ++i) {
    if (pairs.before[i]->at("text") == pairs.after[i]->at("text")) ++equal;
  }
  return equal / static_cast<double>(pairs.before.size());
}

Json compare_metric(const PairedRows& pairs, const char* name) {
  const auto before = values_of(pairs.before, name), after = values_of(pairs.after, name);
  return {{"before", to_json(summarize(before).mean)},
          {"after", to_json(summarize(after).mean)},
          {"difference", to_json(mean_difference(before, after, kSeed), "mean")}};
}

/// Adds what changed in each turn.
void add_changed(const PairedRows& pairs, Json& changed) {
  for (size_t i = 0; i < pairs.before.size(); ++i) {
    const Json &before = *pairs.before[i], &after = *pairs.after[i];
    const double was = value_of(before, "ttfs").value_or(0);
    const double slower = value_of(after, "ttfs").value_or(0) - was;
    const bool other_text = before.at("text") != after.at("text");
    if (slower == 0 && !other_text) continue;
    changed.push_back({{"id", before.at("id")},
                       {"method", before.at("method")},
                       {"prompt", before.at("prompt")},
                       {"ttfs_difference", slower},
                       {"other_text", other_text},
                       {"before", before.at("text")},
                       {"after", after.at("text")}});
  }
}

void keep_most_changed(Json& changed) {
  std::vector<Json> all(changed.begin(), changed.end());
  std::ranges::stable_sort(all, std::greater<>(), [](const Json& turn) {
    return std::pair(turn["other_text"].get<bool>(),
                     std::abs(turn["ttfs_difference"].get<double>()));
  });
  if (all.size() > kChangedShown) all.resize(kChangedShown);
  changed = all;
}

/// A line for each bound that the method crosses.
void check_bounds(const std::string& name, const Json& method, const ComparisonBounds& bounds,
                  Json& crossed) {
  const auto check = [&](const char* metric, const char* what, const std::optional<double>& bound) {
    const Json& difference = method[metric]["difference"];
    if (!bound || difference.is_null()) return;
    const double before = method[metric]["before"], more = difference["mean"];
    if (more <= *bound * before) return;
    crossed.push_back(
        fmt::format("{}: the mean {} grew from {:.4g} to {:.4g}, by more than {:.4g} %", name, what,
                    before, before + more, 100 * *bound));
  };
  check("ttfs", "time to the first sentence", bounds.max_slower);
  check("nfe_to_first_sentence", "number of passes to the first sentence", bounds.max_more_passes);
  const double equal = method["equal_text"];
  if (bounds.min_equal_text && equal < *bounds.min_equal_text) {
    crossed.push_back(fmt::format("{}: {:.4g} % of the texts are the same, fewer than {:.4g} %",
                                  name, 100 * equal, 100 * *bounds.min_equal_text));
  }
}

std::string run_name(const Json& run) {
  return run.at("model").get<std::string>() + ", cost " +
         run.at("cost").at("name").get<std::string>();
}

}  // namespace

Json compare_reports(const Json& before, const Json& after, const ComparisonBounds& bounds) {
  const Json &runs_before = before.at("runs"), &runs_after = after.at("runs");
  if (before.at("num_turns") != after.at("num_turns")) {
    throw UserError("the sets differ: one has {} turns, the other {}", before["num_turns"].dump(),
                    after["num_turns"].dump());
  }
  if (runs_before.size() != runs_after.size()) {
    throw UserError("one report is of {} models and costs, the other of {}: compare equal numbers",
                    runs_before.size(), runs_after.size());
  }
  Json comparison{{"runs", Json::array()}, {"changed", Json::array()}, {"crossed", Json::array()}};
  for (size_t i = 0; i < runs_before.size(); ++i) {
    Json run{{"before", run_name(runs_before[i])},
             {"after", run_name(runs_after[i])},
             {"methods", Json::object()}};
    RowsOfRun rows_before = rows_of_run(before, runs_before[i]);
    RowsOfRun rows_after = rows_of_run(after, runs_after[i]);
    for (const auto& [name, summary] : runs_before[i].at("methods").items()) {
      const PairedRows pairs = pair_rows(rows_before[name], rows_after[name]);
      if (pairs.before.empty()) continue;
      Json& method = run["methods"][name];
      method["n"] = pairs.before.size();
      for (const ComparedMetric& metric : kMetrics) {
        method[metric.name] = compare_metric(pairs, metric.name);
      }
      method["equal_text"] = equal_share(pairs);
      add_changed(pairs, comparison["changed"]);
      check_bounds(name, method, bounds, comparison["crossed"]);
    }
    if (run["methods"].empty()) {
      throw UserError("no method answered a turn in both reports: compare runs with one in common");
    }
    comparison["runs"].push_back(std::move(run));
  }
  keep_most_changed(comparison["changed"]);
  return comparison;
}

std::string format_comparison(const Json& comparison) {
  std::string text;
  for (const Json& run : comparison["runs"]) {
    text += fmt::format("before: {}\nafter:  {}\n", run["before"].get<std::string>(),
                        run["after"].get<std::string>());
    for (const auto& [name, method] : run["methods"].items()) {
      text += fmt::format("{}: {} turns, {:.1f} % of the texts are the same\n", name,
                          method["n"].dump(), 100 * method["equal_text"].get<double>());
      for (const ComparedMetric& metric : kMetrics) {
        const Json& entry = method[metric.name];
        if (entry["difference"].is_null()) continue;
        const auto scaled = [&](const Json& value) { return metric.scale * value.get<double>(); };
        const Json& difference = entry["difference"];
        text += fmt::format("  {:<28} {:10.2f} -> {:10.2f}   {:+.2f} ({:+.2f} to {:+.2f})\n",
                            metric.title, scaled(entry["before"]), scaled(entry["after"]),
                            scaled(difference["mean"]), scaled(difference["low"]),
                            scaled(difference["high"]));
      }
    }
  }
  if (!comparison["changed"].empty()) text += "\nTurns that changed most:\n";
  for (const Json& turn : comparison["changed"]) {
    const auto get = [&](const char* key) { return turn[key].get<std::string>(); };
    text += fmt::format("{} {} ({:+.1f} ms): {}\n", get("method"), get("id"),
                        1e3 * turn["ttfs_difference"].get<double>(), get("prompt"));
    if (turn["other_text"].get<bool>()) {
      text += "  before: " + get("before") + "\n  after:  " + get("after") + "\n";
    }
  }
  for (const Json& line : comparison["crossed"]) {
    text += "bound crossed: " + line.get<std::string>() + '\n';
  }
  return text;
}

}  // namespace predgen::evaluate

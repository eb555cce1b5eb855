#include "train/report/run_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/files.h"
#include "train/checkpoint_store.h"
#include "train/metrics_log.h"

namespace predgen::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Whether a counter has grown since its previous value.
bool has_grown(const Json& line, const char* tag, double& before) {
  const double now = line.value(tag, before);
  const bool grown = now > before;
  before = now;
  return grown;
}

void read_scalars(const std::filesystem::path& file, RunHistory& history) {
  double skipped = 0.0, outliers = 0.0;
  read_metrics(file, [&](const Json& line) {
    const auto step = line.at("step").get<int64_t>();
    history.last_step = std::max(history.last_step, step);
    for (const auto& [tag, value] : line.items()) {
      if (tag == "step") continue;
      Series& series = history.scalars[tag];
      series.steps.push_back(step);
      series.values.push_back(value.is_number() ? value.get<double>() : kNan);
    }
    // A line is written for every skipped step.
    const bool outlier = has_grown(line, "train/outlier_steps", outliers);
    if (has_grown(line, "train/skipped_steps", skipped)) history.skipped.push_back({step, outlier});
  });
}

}  // namespace

double RunHistory::last(const std::string& tag) const {
  const auto found = scalars.find(tag);
  if (found == scalars.end()) return kNan;
  const std::vector<double>& values = found->second.values;
  const auto finite = std::find_if(values.rbegin(), values.rend(),
                                   [](double value) { return std::isfinite(value); });
  return finite == values.rend() ? kNan : *finite;
}

RunHistory read_run(const std::filesystem::path& run) {
  if (!std::filesystem::exists(run / "metrics.jsonl") ||
      !std::filesystem::exists(run / "config.yaml")) {
    throw UserError("{}: has no metrics.jsonl and config.yaml: is it the output of a training?",
                    run.string());
  }
  RunHistory history;
  history.config = read_file(run / "config.yaml");
  read_scalars(run / "metrics.jsonl", history);
  if (std::filesystem::exists(run / "watch.jsonl")) {
    std::map<std::string, Json> first;  // a resumed run may watch other prompts
    read_metrics(run / "watch.jsonl", [&](const Json& line) {
      history.first_watch = first.try_emplace(line.value("watched", ""), line).first->second;
      history.last_watch = line;
    });
  }
  if (const auto checkpoint = CheckpointStore(run, {}, 1).newest()) {
    const std::filesystem::path file = *checkpoint / "state.json";
    history.identity = json_get<RunIdentity>(read_json(file), "run", file.string());
  }
  return history;
}

}  // namespace predgen::train

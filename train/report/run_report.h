#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"

namespace predgen::train {

/// One scalar over the steps, in order; NaN where it was not finite.
struct Series {
  std::vector<int64_t> steps{};
  std::vector<double> values{};
};

/// A step that did not move the weights.
struct SkippedStep {
  int64_t step = 0;
  bool outlier = false;  // otherwise the gradient was not finite
};

/// The contents of the files in a run's folder.
struct RunHistory {
  std::map<std::string, Series> scalars;  // by tag: "train/ar", "held_out/ar", ...
  std::vector<SkippedStep> skipped;
  int64_t last_step = 0;
  Json first_watch, last_watch;  // lines of watch.jsonl, same prompts; null without a watch
  std::string config;            // YAML
  std::map<std::string, std::string> identity;  // of the newest checkpoint; empty before the first

  /// The newest value that is finite; NaN if there is none.
  double last(const std::string& tag) const;
};

/// UserError if `run` is not the output folder of a training run.
RunHistory read_run(const std::filesystem::path& run);

/// A line thinned to what a screen can show: the mean, lowest and highest value of adjacent
/// steps.
struct ThinLine {
  std::vector<double> steps{}, means{}, lowest{}, highest{};
};
/// Values that are not finite are left out.
ThinLine thin(const Series& series, int64_t last_step, size_t most);

/// What the page about a training run draws: "head" (settings that its head names), "last_step",
/// "series" (by tag of metrics.jsonl: "points", thinned to what a screen can show, "last" and
/// "lowest"), "skipped" steps, "answers" to the watched prompts at first and last, "config" and
/// what identifies the run.
Json run_report_data(const std::string& name, const RunHistory& history);

/// Writes a self-contained page about a training run: its curves, skipped steps, the watch's
/// findings, the configuration and what identifies the run. Uses only the files in `run`;
/// atomically replaces `file` (empty: `run`/report.html) and returns its path. UserError if `run`
/// is not the output folder of a training run.
std::filesystem::path write_run_report(const std::filesystem::path& run,
                                       const std::filesystem::path& file = {});

}  // namespace predgen::train

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

}  // namespace predgen::train

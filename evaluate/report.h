#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/run_methods.h"
#include "evaluate/training_overlap.h"

namespace predgen::evaluate {

/// Results of one model on the set at one cost.
struct ReportRun {
  std::string model;
  Json cost;          // to_json(RunCost)
  Json rows, failed;  // of to_json(EvalRun)
};

struct ReportInput {
  const std::vector<std::string>& methods;
  const TurnSet& turns;
  const std::vector<ReportRun>& runs;  // one at least
  std::string resolved_config;         // YAML
  Json environment;                    // device, threads, ...
  std::vector<data::PromptSet::Overlap>
      training_overlap{};  // by turn; empty: no training data given
};

/// results.json: "runs" (for each model and cost "methods", a summary of every metric by method,
/// "comparisons", and "unseen", the same over the turns that are not in the training data, if
/// some are; what pictures show besides: add_figure_values()), "methods", "comparisons" and
/// "unseen" of the first run again, "turns" (one row per run, turn and method), "failed" (turns
/// left out of every method of their run), "set" (describe_set()), "questions" (for each turn its
/// "id", the "history" that it has in the set, and whether it "continues" the one before, with the
/// method's own answer), "heard" (describe_heard()), "training_overlap" (numbers of turns),
/// "skipped", "config", "environment". Missing values are null; "judge" of a method is, until
/// scripts/judge.py has graded the file.
Json make_report(const ReportInput& input);

/// The table for a terminal: one line per method.
std::string format_table(const Json& report);

/// One row per turn and method, RFC 4180.
std::string format_csv(const Json& report);

/// Writes turns.csv, report.html and, last, results.json into `folder`. Each replaces an older one
/// atomically; other files stay.
void write_report(const Json& report, const std::filesystem::path& folder);

}  // namespace predgen::evaluate

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "evaluate/run_methods.h"
#include "evaluate/training_overlap.h"

namespace predgen {

struct ReportInput {
  const std::vector<std::string>& methods;
  const TurnSet& turns;
  const EvalRun& run;
  std::string resolved_config;                         // YAML
  Json environment;                                    // device, threads, model, ...
  std::vector<PromptSet::Overlap> training_overlap{};  // by turn; empty: no training data given
};

/// results.json: "methods" (summary of every metric by method), "comparisons", "turns" (one row
/// per turn and method), "failed" (turns that are in no method), "skipped", "config",
/// "environment"; with training data "training_overlap" (numbers of turns) and, where some turns
/// stand in it, "unseen" ("methods" and "comparisons" over the others). Missing values are null.
Json make_report(const ReportInput& input);

/// The table for a terminal: one line per method.
std::string format_table(const Json& report);

/// One row per turn and method, RFC 4180.
std::string format_csv(const Json& report);

/// A page that needs nothing else.
std::string format_html(const Json& report);

/// Writes turns.csv, report.html and, last, results.json into `folder`. Each replaces an older
/// one in one step; other files stay.
void write_report(const Json& report, const std::filesystem::path& folder);

}  // namespace predgen

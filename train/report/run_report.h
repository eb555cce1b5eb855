#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "train/report/run_history.h"

namespace predgen::train {

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

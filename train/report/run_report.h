#pragma once

#include <filesystem>

namespace predgen::train {

/// Writes a self-contained page about a training run: its curves, skipped steps, the watch's
/// findings, the configuration and what identifies the run. Uses only the files in `run`;
/// atomically replaces `file` (empty: `run`/report.html) and returns its path. UserError if `run`
/// is not the output folder of a training run.
std::filesystem::path write_run_report(const std::filesystem::path& run,
                                       const std::filesystem::path& file = {});

}  // namespace predgen::train

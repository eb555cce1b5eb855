#pragma once

#include <filesystem>

namespace predgen::train {

/// A page about a training that needs nothing else: its curves, the steps that were skipped, what
/// the watch saw, the configuration and what identifies the run. Made from the files in `run`
/// alone; it replaces `file` in one step; empty: `run`/report.html. Returns the file. UserError if
/// `run` is not the output folder of a training.
std::filesystem::path write_run_report(const std::filesystem::path& run,
                                       const std::filesystem::path& file = {});

}  // namespace predgen::train

#pragma once

#include <filesystem>

namespace predgen::train {

/// Cleans the folder of a run that ended before its first step: it holds a log without a step and
/// only files that a run's start writes. Returns false, and removes nothing, for any other
/// folder.
bool remove_stepless_start(const std::filesystem::path& run);

}  // namespace predgen::train

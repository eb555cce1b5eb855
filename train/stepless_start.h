#pragma once

#include <filesystem>

namespace predgen::train {

/// Removes what a start left in its folder that ended before its first step: a log without a step,
/// and beside it nothing that a start does not write. False, and nothing is removed, for any other
/// folder.
bool remove_stepless_start(const std::filesystem::path& run);

}  // namespace predgen::train

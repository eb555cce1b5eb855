#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace predgen::cli {

/// Since this program was started, in the system's ticks (a hundredth of a second); 0 where it does
/// not say.
double seconds_since_start();

/// The part of these files that is in memory before anybody reads them, in [0,1]; nothing where the
/// system does not say.
std::optional<double> cached_share(const std::vector<std::filesystem::path>& files);

}  // namespace predgen::cli

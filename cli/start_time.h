#pragma once

#include <filesystem>
#include <optional>
#include <vector>

namespace predgen::cli {

/// Time since this program was started, in the system's ticks (a hundredth of a second); 0 if
/// unknown.
double seconds_since_start();

/// The part of these files that is in the page cache, before they are read, in [0,1]; nullopt if
/// the system does not say.
std::optional<double> cached_share(const std::vector<std::filesystem::path>& files);

}  // namespace predgen::cli

#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace predgen::cli {

/// The script that fetches models, for a program in `folder`: that of an installed tree
/// (cmake/Install.cmake) if this is its libexec/predgen, or that of the sources which this build
/// folder was made for. No other folder is looked into: what lies there may be anybody's.
std::optional<std::filesystem::path> find_fetch_script(const std::filesystem::path& folder);

/// Whether a program of this name is in one of the folders of `path`, a value of $PATH.
bool is_in_path(const std::string& program, const std::string& path);

}  // namespace predgen::cli

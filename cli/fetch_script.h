#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace predgen::cli {

/// The script that fetches models, for a program in `folder`: that of an installed tree
/// (cmake/Install.cmake), or of the sources that the program was built in.
std::optional<std::filesystem::path> find_fetch_script(const std::filesystem::path& folder);

/// Whether a program of this name is in one of the folders of `path`, a value of $PATH.
bool is_in_path(const std::string& program, const std::string& path);

}  // namespace predgen::cli

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace predgen {

/// The files of a model's or an adapter's folder that decide what is computed, sorted: its shapes
/// (config.json, adapter_config.json) and every weight file. UserError if the folder does not
/// exist.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);

/// A hash of the names and contents of such files, wherever they are.
std::string hash_weights(const std::vector<std::filesystem::path>& files);

}  // namespace predgen

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace predgen {

/// Of the shapes (config.json, adapter_config.json) and every weight file of model and adapter
/// folders, wherever they lie; empty names are left out. UserError for a folder that is not there.
std::string hash_weights(const std::vector<std::filesystem::path>& folders);

}  // namespace predgen

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

/// What tells a model from others of the same shapes, merged adapters included, without reading all
/// of it: FNV-1a in 64 bits of each file's size and of 64 parts of it, 4 KiB each, evenly spread.
/// scripts/train_end_readout.py computes the same. UserError if a file cannot be read.
std::string fingerprint(const std::vector<std::filesystem::path>& files);

}  // namespace predgen

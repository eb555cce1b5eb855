#include "model/weights/weights_hash.h"

#include <algorithm>

#include "core/error.h"
#include "core/hash.h"

namespace predgen {
namespace fs = std::filesystem;

std::vector<fs::path> weight_files(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw UserError("{}: no such folder", folder.string());
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().filename();
    const bool says_shape = name == "config.json" || name == "adapter_config.json";
    if (says_shape || name.extension() == ".safetensors") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string hash_weights(const std::vector<fs::path>& files) {
  Hasher hasher;
  for (const fs::path& file : files) hasher.add(file.filename().string()).add_file(file);
  return hasher.hex();
}

}  // namespace predgen

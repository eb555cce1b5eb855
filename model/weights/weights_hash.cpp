#include "model/weights/weights_hash.h"

#include <algorithm>
#include <fstream>

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

std::string fingerprint(const std::vector<fs::path>& files) {
  constexpr uint64_t kParts = 64, kPartBytes = 4096;
  uint64_t hash = 14695981039346656037U;
  const auto add = [&](std::string_view bytes) {
    for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211U;
  };
  for (const fs::path& file : files) {
    std::error_code error;
    const uint64_t size = fs::file_size(file, error);
    std::ifstream stream(file, std::ios::binary);
    if (error || !stream) throw UserError("{}: cannot be read", file.string());
    add(std::to_string(size) + "\n");
    std::string part(kPartBytes, '\0');
    for (uint64_t i = 0; i < kParts; ++i) {
      stream.clear();
      stream.seekg(static_cast<std::streamoff>(size / kParts * i));
      stream.read(part.data(), std::ssize(part));
      add(std::string_view(part).substr(0, static_cast<size_t>(stream.gcount())));
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace predgen

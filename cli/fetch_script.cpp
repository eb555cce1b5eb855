#include "cli/fetch_script.h"

#include <unistd.h>

#include <sstream>

namespace predgen::cli {
namespace fs = std::filesystem;

std::optional<fs::path> find_fetch_script(const fs::path& folder) {
  std::error_code absent;
  if (const fs::path installed = folder / "../../bin/predgen-fetch-model";
      fs::exists(installed, absent)) {
    return installed.lexically_normal();
  }
  constexpr int kMostLevels = 3;  // from a build folder up to the sources
  fs::path sources = folder;
  for (int i = 0; i < kMostLevels; ++i) {
    sources = sources.parent_path();
    const fs::path script = sources / "scripts" / "fetch_model.py";
    if (fs::exists(script, absent) && fs::exists(sources / "CMakeLists.txt", absent)) return script;
  }
  return std::nullopt;
}

bool is_in_path(const std::string& program, const std::string& path) {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace predgen::cli

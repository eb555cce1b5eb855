#include "cli/fetch_script.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string_view>

namespace predgen::cli {
namespace fs = std::filesystem;

namespace {

/// The sources that CMake made a build folder for, "" if it is none.
fs::path sources_of(const fs::path& build) {
  constexpr std::string_view kKey = "predgen_SOURCE_DIR:STATIC=";
  std::ifstream cache(build / "CMakeCache.txt");
  for (std::string line; std::getline(cache, line);) {
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  }
  return {};
}

}  // namespace

std::optional<fs::path> find_fetch_script(const fs::path& folder) {
  std::error_code absent;
  fs::path script;
  if (folder.filename() == "predgen" && folder.parent_path().filename() == "libexec") {
    script = (folder / "../../bin/predgen-fetch-model").lexically_normal();
  } else if (const fs::path sources = sources_of(folder); !sources.empty()) {
    script = sources / "scripts" / "fetch_model.py";
  }
  if (script.empty() || !fs::exists(script, absent)) return std::nullopt;
  return script;
}

bool is_in_path(const std::string& program, const std::string& path) {
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace predgen::cli

#include "audio/recording_source.h"

#include <fmt/format.h>

#include "core/error.h"

namespace predgen {
namespace fs = std::filesystem;

fs::path next_recording(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw UserError("{} cannot be made a folder for recordings: {}", folder.string(),
                    error ? error.message() : "it is something else");
  }
  for (int number = 1;; ++number) {
    fs::path file = folder / fmt::format("heard-{}.wav", number);
    if (!fs::exists(file)) return file;
  }
}

}  // namespace predgen

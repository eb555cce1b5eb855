// open_checkpoint() of model/checkpoint/checkpoint.h: the list of formats.

#include "core/error.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/hugging_face_folder.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

/// How a path is told apart, and what opens it.
struct Format {
  bool (*is_at)(const fs::path& path);
  std::unique_ptr<const Checkpoint> (*open)(const fs::path& path);
};

template <typename T>
std::unique_ptr<const Checkpoint> open(const fs::path& path) {
  return std::make_unique<const T>(path);
}

constexpr Format kFormats[] = {{HuggingFaceFolder::is_at, open<HuggingFaceFolder>}};

}  // namespace

std::unique_ptr<const Checkpoint> open_checkpoint(const fs::path& path) {
  for (const Format& format : kFormats) {
    if (format.is_at(path)) return format.open(path);
  }
  std::error_code unusable;  // a name that is too long, for example
  throw UserError("{}: {}", path.string(),
                  fs::exists(path, unusable) ? "is not a model folder" : "no such model folder");
}

}  // namespace predgen

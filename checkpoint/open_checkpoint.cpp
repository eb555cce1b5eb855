// open_checkpoint() of checkpoint/checkpoint.h: the list of formats.

#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf_checkpoint.h"
#include "checkpoint/hugging_face_folder.h"
#include "core/error.h"
#include "core/model_names.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

/// How a format's paths are recognised, and what opens them.
struct Format {
  bool (*is_at)(const fs::path& path);
  std::unique_ptr<const Checkpoint> (*open)(const fs::path& path);
};

template <typename T>
std::unique_ptr<const Checkpoint> open(const fs::path& path) {
  return std::make_unique<const T>(path);
}

constexpr Format kFormats[] = {{HuggingFaceFolder::is_at, open<HuggingFaceFolder>},
                               {GgufCheckpoint::is_at, open<GgufCheckpoint>}};

/// For files that are only part of a model.
const char* hint_for(const fs::path& file) {
  const bool is_part = file.extension() == ".safetensors" || file.extension() == ".json";
  return is_part ? ": give the folder that it lies in" : " or GGUF file";
}

}  // namespace

std::unique_ptr<const Checkpoint> open_checkpoint(const fs::path& path) {
  const fs::path found = find_model(path);
  for (const Format& format : kFormats) {
    if (format.is_at(found)) return format.open(found);
  }
  throw UserError("{}: is not a model folder{}", found.string(), hint_for(found));
}

}  // namespace predgen

#include "voice/piper/piper_options.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/model_names.h"
#include "core/text.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

/// `asked` itself, or the voice of that name in the models folder.
fs::path find_voice(const fs::path& asked) {
  std::error_code absent;
  if (fs::exists(asked, absent)) return asked;
  const bool is_name = !asked.empty() && asked == asked.filename();
  if (is_name && fs::is_directory(models_folder() / asked, absent)) return models_folder() / asked;
  throw UserError(
      "{}: no such folder; a Piper voice is a folder with NAME.onnx and NAME.onnx.json, such as "
      "'joe', which {} fetches",
      shortened(asked.string()), fetch_command("joe"));
}

}  // namespace

fs::path PiperOptions::file() const {
  fs::path place = find_voice(voice);
  std::error_code absent;
  if (!fs::is_directory(place, absent)) return place;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(place)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) {
    throw UserError("{}: has no .onnx file; a Piper voice is NAME.onnx and NAME.onnx.json",
                    place.string());
  }
  if (files.size() > 1) {
    throw UserError("{}: has {} voices, such as {} and {}: name one file", place.string(),
                    files.size(), files[0].filename().string(), files[1].filename().string());
  }
  return files.front();
}

Settings settings_of(PiperOptions& options) {
  return {Setting("voice", options.voice,
                  "a name in the models' folder, a folder of NAME.onnx and NAME.onnx.json, or such "
                  "a file; `predgen models get joe` makes joe")
              .needed(),
          {"speaker", options.speaker, "of a voice with several; empty: the first"},
          {"speed", options.settings.speed, between(kSlowestPiper, kFastestPiper), "of speech"},
          {"noise_scale", options.settings.noise_scale, between(-1, 2),
           "randomness of the sound; -1: the voice's own"},
          {"noise_w", options.settings.noise_w, between(-1, 2),
           "the same for phoneme lengths; both 0: a text always sounds the same"}};
}

}  // namespace predgen
